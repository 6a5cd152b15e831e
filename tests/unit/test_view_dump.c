// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sink.h"
#include "calltree/expand.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/dump.h"
#include "view/style.h"

#define STACK "main;pool@p.c:20+wait@w.h:3"

/* Four threads of two processes: two in the same sleep, one without a stack, one elsewhere. */
static void expect(bool json, const char *expected)
{
	const struct view view = {.columns = 60, .names = NAME_SHORT};
	struct dump_thread threads[] = {
		{.row = 0, .state = 'R', .fd = -1, .object = ""},
		{.row = 1,
		 .state = 'S',
		 .syscall = "futex",
		 .argument = 0x1000,
		 .fd = -1,
		 .object = "",
		 .owner = 100},
		{.row = 2, .state = 'S', .syscall = "read", .fd = 3, .object = "a\033[1m"},
		{.row = 3, .state = 't', .fd = -1, .object = ""},
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
		      "thread 101 one: sleeping, in futex(0x1000), held by thread …\n"
		      "thread 102 two\\n: sleeping, in read(3: a\\x1b[1m)\n"
		      "    wait (inlined)  w.h:3   prog\n"
		      "    pool            p.c:20  prog\n"
		      "    main                    prog\n"
		      "\n"
		      "process 200: other\n"
		      "\n"
		      "thread 200 other: stopped\n"
		      "    (no stack)\n");
}

TEST(dump, json_has_the_documented_members)
{
	expect(true,
	       "{\"version\":1,\"processes\":["
	       "{\"pid\":100,\"name\":\"prog\",\"command\":\"prog\",\"threads\":["
	       "{\"tid\":100,\"name\":\"prog\",\"state\":\"running\",\"syscall\":null,"
	       "\"fd\":null,\"object\":null,\"futex\":null,\"lock_owner\":null,\"stack_end\":"
	       "\"root\","
	       "\"stack\":[{\"function\":\"[libz.so+0x4]\",\"file\":null,\"line\":null,"
	       "\"module\":\"/bin/libz.so\",\"inlined\":false},"
	       "{\"function\":\"f\",\"file\":\"f.c\",\"line\":2,"
	       "\"module\":\"/bin/prog\",\"inlined\":false},"
	       "{\"function\":\"f\",\"file\":\"f.c\",\"line\":2,"
	       "\"module\":\"/bin/prog\",\"inlined\":false},{\"function\":\"main\","
	       "\"file\":null,\"line\":null,\"module\":\"/bin/prog\",\"inlined\":false}]},"
	       "{\"tid\":101,\"name\":\"one\",\"state\":\"sleeping\",\"syscall\":\"futex\","
	       "\"fd\":null,\"object\":null,\"futex\":\"0x1000\",\"lock_owner\":100,\"stack_end\":"
	       "\"root\","
	       "\"stack\":[{\"function\":\"wait\",\"file\":\"w.h\",\"line\":3,"
	       "\"module\":\"/bin/prog\",\"inlined\":true},{\"function\":\"pool\","
	       "\"file\":\"p.c\",\"line\":20,\"module\":\"/bin/prog\",\"inlined\":false},"
	       "{\"function\":\"main\",\"file\":null,\"line\":null,\"module\":\"/bin/prog\","
	       "\"inlined\":false}]},"
	       "{\"tid\":102,\"name\":\"two\\u000a\",\"state\":\"sleeping\","
	       "\"syscall\":\"read\",\"fd\":3,\"object\":\"a\\u001b[1m\","
	       "\"futex\":null,\"lock_owner\":null,\"stack_end\":\"root\","
	       "\"stack\":[{\"function\":\"wait\",\"file\":\"w.h\",\"line\":3,"
	       "\"module\":\"/bin/prog\",\"inlined\":true},{\"function\":\"pool\","
	       "\"file\":\"p.c\",\"line\":20,\"module\":\"/bin/prog\",\"inlined\":false},"
	       "{\"function\":\"main\",\"file\":null,\"line\":null,\"module\":\"/bin/prog\","
	       "\"inlined\":false}]}]},"
	       "{\"pid\":200,\"name\":\"other\",\"command\":\"other\",\"threads\":["
	       "{\"tid\":200,\"name\":\"other\",\"state\":\"stopped\",\"syscall\":null,"
	       "\"fd\":null,\"object\":null,\"futex\":null,\"lock_owner\":null,\"stack_end\":null,"
	       "\"stack\":[]}]}]}\n");
}
