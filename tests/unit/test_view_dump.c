// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sink.h"
#include "calltree/expand.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/dump.h"
#include "view/style.h"

/* System calls of x86-64. */
#define READ  0
#define FUTEX 202

#define STACK "main;pool@p.c:20+wait@w.h:3"

static void let_sleep(struct profile *profile, size_t sample, int16_t syscall_nr,
		      const struct profile_wait *wait)
{
	profile->samples[sample].kind = SAMPLE_BLOCKED;
	profile->samples[sample].syscall_nr = syscall_nr;
	profile->samples[sample].wait = profile_waits_intern(profile_waits(profile), wait);
}

/* The second thread wants a lock of the first, the third reads. */
static void let_wait(struct profile *profile)
{
	const struct profile_wait lock = {.kind = WAIT_MUTEX,
					  .number = 0x1000,
					  .place = WAIT_NO_PLACE,
					  .name = profile_intern(profile, "[heap]"),
					  .owner = {0}};
	const struct profile_wait file = {.kind = WAIT_FILE,
					  .number = 3,
					  .place = WAIT_NO_PLACE,
					  .name = profile_intern(profile, "a\033[1m"),
					  .owner = THREAD_NONE};

	profile->meta.arch = profile_intern(profile, "x86_64");
	let_sleep(profile, 1, FUTEX, &lock);
	let_sleep(profile, 2, READ, &file);
}

/* Four threads of two processes: two in the same sleep, one without a stack, one elsewhere. */
static void expect(bool json, const char *expected)
{
	const struct view view = {.columns = 60, .names = NAME_SHORT};
	struct dump_thread threads[] = {
		{.row = 0, .state = 'R'},
		{.row = 1, .state = 'S'},
		{.row = 2, .state = 'S'},
		{.row = 3, .state = 't', .why_no_stack = "it is stopped by job control"},
	};
	struct dump dump = {.threads = threads, .nr_threads = 4};
	struct made made = made_begin();
	struct expansion *expansion;
	struct profile *profile;
	struct sink sink = SINK_MEMORY;

	made_sample(&made, "main;f@f.c:2;f@f.c:2;libz.so!?", 1);
	made_thread(&made, 100, 101, "one");
	made_sample(&made, STACK, 1);
	made_thread(&made, 100, 102, "two\n");
	made_sample(&made, STACK, 1);
	made_thread(&made, 200, 200, "other");
	profile = made_end(&made);
	for (size_t i = 0; i < 3; i++)
		threads[i].sample = &profile->samples[i];
	let_wait(profile);
	expansion = expansion_new(profile, false);
	dump.expansion = expansion;
	if (json)
		dump_print_json(&dump, &sink);
	else
		dump_print_text(&dump, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	expansion_free(expansion);
	profile_free(profile);
}

TEST(dump, text_has_equal_stacks_once)
{
	expect(false, "process 100: prog\n"
		      "\n"
		      "thread 100 prog: running\n"
		      "    [libz.so+0x4]\n"
		      "    f (× 2)        f.c:2  prog\n"
		      "    main                  prog\n"
		      "\n"
		      "thread 101 one: sleeping, in futex(0x1000 [heap]), held by …\n"
		      "thread 102 two\\n: sleeping, in read(3: a\\x1b[1m)\n"
		      "    wait (inlined)  w.h:3   prog\n"
		      "    pool            p.c:20  prog\n"
		      "    main                    prog\n"
		      "\n"
		      "process 200: other\n"
		      "\n"
		      "thread 200 other: stopped\n"
		      "    (no stack: it is stopped by job control)\n");
}

TEST(dump, json_has_the_documented_members)
{
	expect(true, "{\"version\":1,\"processes\":["
		     "{\"pid\":100,\"name\":\"prog\",\"command\":\"prog\",\"threads\":["
		     "{\"tid\":100,\"name\":\"prog\",\"state\":\"running\",\"syscall\":null,"
		     "\"fd\":null,\"object\":null,\"peer\":null,\"futex\":null,\"lock\":null,"
		     "\"lock_owner\":null,\"stack_end\":\"root\","
		     "\"stack\":[{\"function\":\"[libz.so+0x4]\",\"file\":null,\"line\":null,"
		     "\"module\":\"/bin/libz.so\",\"inlined\":false},"
		     "{\"function\":\"f\",\"file\":\"f.c\",\"line\":2,"
		     "\"module\":\"/bin/prog\",\"inlined\":false},"
		     "{\"function\":\"f\",\"file\":\"f.c\",\"line\":2,"
		     "\"module\":\"/bin/prog\",\"inlined\":false},{\"function\":\"main\","
		     "\"file\":null,\"line\":null,\"module\":\"/bin/"
		     "prog\",\"inlined\":false}],\"no_stack\":null},"
		     "{\"tid\":101,\"name\":\"one\",\"state\":\"sleeping\",\"syscall\":\"futex\","
		     "\"fd\":null,\"object\":null,\"peer\":null,\"futex\":\"0x1000\","
		     "\"lock\":\"0x1000 [heap]\",\"lock_owner\":100,\"stack_end\":\"root\","
		     "\"stack\":[{\"function\":\"wait\",\"file\":\"w.h\",\"line\":3,"
		     "\"module\":\"/bin/prog\",\"inlined\":true},{\"function\":\"pool\","
		     "\"file\":\"p.c\",\"line\":20,\"module\":\"/bin/prog\",\"inlined\":false},"
		     "{\"function\":\"main\",\"file\":null,\"line\":null,\"module\":\"/bin/prog\","
		     "\"inlined\":false}],\"no_stack\":null},"
		     "{\"tid\":102,\"name\":\"two\\u000a\",\"state\":\"sleeping\","
		     "\"syscall\":\"read\",\"fd\":3,\"object\":\"a\\u001b[1m\",\"peer\":null,"
		     "\"futex\":null,\"lock\":null,\"lock_owner\":null,\"stack_end\":\"root\","
		     "\"stack\":[{\"function\":\"wait\",\"file\":\"w.h\",\"line\":3,"
		     "\"module\":\"/bin/prog\",\"inlined\":true},{\"function\":\"pool\","
		     "\"file\":\"p.c\",\"line\":20,\"module\":\"/bin/prog\",\"inlined\":false},"
		     "{\"function\":\"main\",\"file\":null,\"line\":null,\"module\":\"/bin/prog\","
		     "\"inlined\":false}],\"no_stack\":null}]},"
		     "{\"pid\":200,\"name\":\"other\",\"command\":\"other\",\"threads\":["
		     "{\"tid\":200,\"name\":\"other\",\"state\":\"stopped\",\"syscall\":null,"
		     "\"fd\":null,\"object\":null,\"peer\":null,\"futex\":null,\"lock\":null,"
		     "\"lock_owner\":null,\"stack_end\":null,\"stack\":[],"
		     "\"no_stack\":\"it is stopped by job control\"}]}]}\n");
}
