// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of a made-up profile, and what is told again after some were refused. */
#include "agent/lines_priv.h"
#include "agent/write_priv.h"
#include "base/buf.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* An outlet that keeps what it takes. */
struct kept {
	struct buf text;
	bool is_full;
	int nr_taken_yet; /* it is full after so many; -1: never */
	int nr_lost, nr_rows;
};

static bool put(void *context, const struct buf *lines, bool is_row)
{
	struct kept *kept = context;

	if (kept->nr_taken_yet == 0)
		kept->is_full = true;
	if (kept->is_full)
		return false;
	kept->nr_taken_yet -= kept->nr_taken_yet > 0;
	kept->nr_rows += is_row;
	buf_append(&kept->text, lines->bytes, lines->nr_bytes);
	return true;
}

static bool is_full(void *context)
{
	return ((struct kept *)context)->is_full;
}

static void lose(void *context)
{
	((struct kept *)context)->nr_lost++;
}

static struct agent_lines *lines_into(struct kept *kept)
{
	const struct agent_outlet outlet = {
		.put = put, .is_full = is_full, .lose = lose, .context = kept};

	*kept = (struct kept){.nr_taken_yet = -1};
	return agent_lines_new(&outlet);
}

/* What came since the last call, without the line that says hello. */
static void assert_told(struct kept *kept, const char *expected)
{
	const char *text = buf_str(&kept->text);

	if (strncmp(text, "{\"type\":\"hello\"", 15) == 0)
		text = strchr(text, '\n') + 1;
	assert_string_equal(text, expected);
	buf_clear(&kept->text);
}

#define PROCESS                                                                                    \
	"{\"type\":\"process\",\"id\":0,\"pid\":100,\"parent\":null,\"name\":\"prog\",\"exe\":"    \
	"\"prog\",\"command\":\"prog\",\"start_ns\":0,\"end_ns\":null}\n"
#define THREAD                                                                                     \
	"{\"type\":\"thread\",\"id\":0,\"process\":0,\"tid\":100,\"name\":\"prog\",\"start_ns\":"  \
	"0,\"end_ns\":null}\n"
#define SAMPLE(time, stack, cpu)                                                                   \
	"{\"type\":\"sample\",\"time_ns\":" time ",\"thread\":0,\"stack\":" stack                  \
	",\"kind\":\"running\",\"samples\":1,\"cpu_ns\":" cpu                                      \
	",\"runq_ns\":0,\"blocked_ns\":0,\"syscall\":null,\"stack_end\":\"root\"}\n"

/* Texts are interned in order, and the address of a made-up frame is its text's id. */
#define MODULE                                                                                     \
	"{\"type\":\"module\",\"id\":1,\"kind\":\"file\",\"path\":\"/bin/prog\",\"build_id\":"     \
	"null,\"deleted\":false,\"pid\":null}\n"
#define FRAME(id, address)                                                                         \
	"{\"type\":\"frame\",\"id\":" id ",\"module\":1,\"address\":\"" address "\"}\n"

TEST(agent_lines, definitions_come_once_and_before_what_names_them)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	made_sample(&made, "main;work", 2);
	made_sample(&made, "main", 1);
	made_sample(&made, "main;work", 1);
	agent_lines_look(lines, profile);
	assert_told(
		&kept,
		PROCESS THREAD MODULE FRAME("1", "0x3")
			FRAME("0", "0x2") "{\"type\":\"stack\",\"id\":2,\"frames\":[1,0]}\n" SAMPLE(
				"2000000", "2",
				"2000000") "{\"type\":\"stack\",\"id\":1,\"frames\":[0]}"
					   "\n" SAMPLE("3000000", "1", "1000000")
						   SAMPLE("4000000", "2", "1000000"));
	/* As the collector does once they are written. */
	profile->nr_samples = 0;
	agent_lines_look(lines, profile);
	assert_told(&kept, "");
	made_sample(&made, "main", 3);
	agent_lines_look(lines, profile);
	assert_told(&kept, SAMPLE("7000000", "1", "3000000"));
	assert_int_equal(kept.nr_rows, 4);
	assert_int_equal(kept.nr_lost, 0);
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}

TEST(agent_lines, a_task_that_changes_is_told_again)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	agent_lines_look(lines, profile);
	assert_told(&kept, PROCESS THREAD);
	profile->threads[0].name = profile_intern(profile, "worker \"1\"");
	agent_lines_look(lines, profile);
	assert_told(&kept, "{\"type\":\"thread\",\"id\":0,\"process\":0,\"tid\":100,\"name\":"
			   "\"worker \\\"1\\\"\",\"start_ns\":0,\"end_ns\":null}\n");
	profile->processes[0].end_ns = 77;
	agent_lines_look(lines, profile);
	assert_non_null(strstr(buf_str(&kept.text), "\"end_ns\":77}\n"));
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}

TEST(agent_lines, what_is_refused_is_lost_but_definitions_come_later)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	kept.nr_taken_yet = 3; /* hello, the process and the thread */
	made_sample(&made, "main", 1);
	made_sample(&made, "main", 1);
	agent_lines_look(lines, profile);
	assert_told(&kept, PROCESS THREAD);
	assert_int_equal(kept.nr_lost, 2);
	profile->nr_samples = 0;
	kept.nr_taken_yet = -1;
	kept.is_full = false;
	made_sample(&made, "main", 1);
	agent_lines_look(lines, profile);
	assert_told(&kept, MODULE FRAME("0", "0x2") "{\"type\":\"stack\",\"id\":1,\"frames\":[0]}"
						    "\n" SAMPLE("3000000", "1", "1000000"));
	assert_int_equal(kept.nr_lost, 2);
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}

TEST(agent_lines, hello_is_the_first_line_even_if_late)
{
	struct made made = made_begin();
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	profile_add_command_word(made.profile, "prog");
	profile_add_command_word(made.profile, "a\"b");
	kept.nr_taken_yet = 0;
	made_sample(&made, "main", 1);
	made_count(&made, "main", NULL, 5);
	agent_lines_look(lines, made.profile);
	assert_told(&kept, "");
	assert_int_equal(kept.nr_lost, 1);
	kept.nr_taken_yet = -1;
	kept.is_full = false;
	agent_lines_look(lines, made.profile);
	assert_memory_equal(buf_str(&kept.text), "{\"type\":\"hello\",\"version\":1,", 28);
	assert_non_null(strstr(buf_str(&kept.text), "\"command\":[\"prog\",\"a\\\"b\"],"));
	assert_non_null(strstr(buf_str(&kept.text), "\"frequency_hz\":1000,"));
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(made.profile);
}

TEST(agent_lines, blocks_are_freed_unless_they_were_lost)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	made_block(&made, "", 64, 4096, 1);
	agent_lines_look(lines, profile);
	assert_told(&kept, PROCESS THREAD
		    "{\"type\":\"stack\",\"id\":0,\"frames\":[]}\n"
		    "{\"type\":\"allocation\",\"id\":0,\"time_ns\":1024,\"thread\":0,\"stack\":0,"
		    "\"kind\":\"malloc\",\"bytes\":64,\"mean_bytes\":4096,\"stack_end\":"
		    "\"root\",\"former\":null}\n");
	kept.is_full = true;
	made_block(&made, "", 65, 4096, 1);
	agent_lines_look(lines, profile);
	assert_int_equal(kept.nr_lost, 1);
	kept.is_full = false;
	profile_free_allocation(profile, 1, 4096, THREAD_NONE);
	profile_free_allocation(profile, 0, 8192, made.thread);
	profile_move_allocation(profile, 0);
	profile_note_freeing(profile, 0, made_stack(profile, "main"), STACK_END_ROOT);
	agent_lines_look(lines, profile);
	assert_told(
		&kept,
		MODULE FRAME(
			"0",
			"0x2") "{\"type\":\"stack\",\"id\":1,\"frames\":[0]}\n"
			       "{\"type\":\"free\",\"allocation\":0,\"time_ns\":8192,\"thread\":0,"
			       "\"moved\":true,\"stack\":1}\n");
	assert_int_equal(kept.nr_lost, 1);
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}

TEST(agent_lines, marks_memory_and_counts)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct profile_heap_moment moment = {.time_ns = 9,
					     .rss_anon_bytes = 4096,
					     .heap_mapped_bytes = 8192,
					     .allocated_bytes = 100,
					     .nr_allocations = 3};
	struct profile_count *count;
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	profile_add_mark(profile, 5, "half\nway");
	profile_add_heap_moment(profile, &moment);
	count = made_count(&made, "main", "work", 6);
	count->to_ns = 10;
	agent_lines_look(lines, profile);
	assert_told(
		&kept, PROCESS THREAD
		"{\"type\":\"memory\",\"time_ns\":9,\"process\":0,\"rss_anon_bytes\":4096,"
		"\"rss_file_bytes\":0,\"rss_shmem_bytes\":0,\"swap_bytes\":0,"
		"\"heap_mapped_bytes\":8192,\"allocated_bytes\":100,\"allocations\":3,"
		"\"dropped\":0,\"frees_dropped\":0}\n"
		"{\"type\":\"mark\",\"time_ns\":5,\"text\":\"half\\u000away\"}\n" MODULE FRAME(
			"0", "0x3")
			FRAME("1", "0x4") "{\"type\":\"count\",\"id\":0,\"process\":0,\"kind\":"
					  "\"call\",\"frame\":0,"
					  "\"callee\":1,\"calls\":6,\"from_ns\":0,\"to_ns\":10}\n");
	agent_lines_look(lines, profile);
	assert_told(&kept, "");
	count->calls = 8;
	count->to_ns = 20;
	agent_lines_look(lines, profile);
	assert_told(&kept, "{\"type\":\"count\",\"id\":0,\"process\":0,\"kind\":\"call\","
			   "\"frame\":0,\"callee\":1,\"calls\":8,\"from_ns\":0,\"to_ns\":20}\n");
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}

TEST(agent_lines, names_that_a_program_gives_its_code)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct jit_name name = {.frame = {0}, .line = 12};
	struct kept kept;
	struct agent_lines *lines = lines_into(&kept);

	made_sample(&made, "main", 1);
	agent_lines_look(lines, profile);
	assert_non_null(strstr(buf_str(&kept.text), FRAME("0", "0x2")));
	buf_clear(&kept.text);
	profile->nr_samples = 0;
	name.name = profile_intern(profile, "compiled");
	name.file = profile_intern(profile, "a.js");
	profile_add_jit_name(profile, &name);
	agent_lines_look(lines, profile);
	assert_told(&kept, "{\"type\":\"frame\",\"id\":0,\"module\":1,\"address\":\"0x2\","
			   "\"function\":\"compiled\",\"file\":\"a.js\",\"line\":12}\n");
	agent_lines_free(lines);
	buf_release(&kept.text);
	profile_free(profile);
}
