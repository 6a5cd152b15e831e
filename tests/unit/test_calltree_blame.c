// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/err.h"
#include "base/sink.h"
#include "browse/narrow_table.h"
#include "calltree/blame.h"
#include "calltree/flat.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/blame_text.h"
#include "view/flat_text.h"
#include "view/style.h"

#define LOCK_ADDRESS 0x4040

static uint32_t made_wait(struct made *made, enum wait_kind kind, uint64_t number, const char *name,
			  struct thread_id owner)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = (uint8_t)kind,
					 .number = number,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, name),
					 .owner = owner};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

/* The current thread was blocked from `from_ms` to `to_ms`. */
static void made_sleep(struct made *made, const char *stack, uint32_t wait, uint64_t from_ms,
		       uint64_t to_ms)
{
	struct sample *sample = made_sample(made, stack, 0);

	sample->kind = SAMPLE_BLOCKED;
	sample->wait = wait;
	sample->time_ns = to_ms * 1000000;
	sample->blocked_ns = (to_ms - from_ms) * 1000000;
}

static void made_run(struct made *made, const char *stack, uint64_t from_ms, uint64_t to_ms)
{
	struct sample *sample = made_sample(made, stack, to_ms - from_ms);

	sample->time_ns = to_ms * 1000000;
}

/* "ms threads kind name, in function; owners; what the first did" a row. */
static void expect_blame(struct profile *profile, enum dimension dimension, const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	struct buf text = {0};
	struct flat *flat;

	flat = flat_new(weighed.weights, dimension);
	for (size_t i = 0; i < flat->nr; i++) {
		const struct flat_row *row = &flat->rows[i];

		buf_printf(&text, "%lu %zu ", (unsigned long)(row->self.weight / 1000000),
			   blame_nr_threads(flat->blame, row->object));
		append_lock_kind(&text, flat->blame, row->object);
		buf_append_byte(&text, ' ');
		flat_append_name(&text, flat, row, NAME_SHORT);
		buf_append_str(&text, ", in ");
		append_waiting_in(&text, flat->blame, row->object, NAME_SHORT);
		buf_append_str(&text, "; ");
		append_owners(&text, flat->blame, row->object);
		buf_append_str(&text, "; ");
		append_owner_in(&text, flat->blame, row->object, NAME_SHORT);
		buf_append_byte(&text, '\n');
	}
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	flat_free(flat);
	weighed_free(&weighed);
	profile_free(profile);
}

/* The table of a dimension and its notes. */
static void expect_table(struct profile *profile, enum dimension dimension, size_t columns,
			 const char *expected)
{
	const struct view view = {.columns = columns};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	struct sink sink = SINK_MEMORY;
	struct flat *flat;

	flat = flat_new(weighed.weights, dimension);
	flat_print_text(flat, &view, 0, &sink);
	flat_print_notes(flat, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	flat_free(flat);
	weighed_free(&weighed);
}

/* The same in the browser, which moves in rows of one table of shares and names. */
static void expect_narrow(struct profile *profile, const char *expected)
{
	const struct view view = {.columns = 40};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	struct sink sink = SINK_MEMORY;
	struct flat *flat;

	flat = flat_new(weighed.weights, BY_LOCK);
	narrow_table_print_row(flat, 0, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	flat_free(flat);
	weighed_free(&weighed);
}

/* What is asked next is said: for which lock, for which file; where there are such. */
TEST(blame, tables_tell_where_to_look)
{
	struct made made = made_begin();
	struct profile *profile;

	made_sleep(&made, "main;get;libc.so.6!pthread_mutex_lock",
		   made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "[heap]", made.thread), 0, 30);
	profile = made_end(&made);
	expect_table(
		profile, BY_FUNCTION, 80,
		"self ms     %    ± total ms     %  function            wait function  module\n"
		"   30.0 100.0 39.7     30.0 100.0  pthread_mutex_lock  get            libc.so.6\n"
		"    0.0   0.0 39.7     30.0 100.0  get                                prog\n"
		"    0.0   0.0 39.7     30.0 100.0  main                               prog\n"
		"\n"
		"note: --by lock shows which locks threads waited for, and their owners\n");
	expect_table(profile, BY_LOCK, 80,
		     "self ms     %    ± threads  lock           waiting in  held by    held in\n"
		     "   30.0 100.0 39.7       1  0x4040 [heap]  get         prog 100%\n");
	profile_free(profile);
	made = made_begin();
	made_sleep(&made, "main;get;libc.so.6!pthread_mutex_lock",
		   made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "[heap]", made.thread), 0, 30);
	made_sleep(&made, "main;load;libc.so.6!read",
		   made_wait(&made, WAIT_FILE, 3, "/tmp/x", THREAD_NONE), 30, 50);
	profile = made_end(&made);
	expect_table(
		profile, BY_FUNCTION, 80,
		"self ms    %    ± total ms     %  function            wait function  module\n"
		"   30.0 60.0 40.5     30.0  60.0  pthread_mutex_lock  get            libc.so.6\n"
		"   20.0 40.0 40.5     20.0  40.0  read                load           libc.so.6\n"
		"    0.0  0.0 33.3     50.0 100.0  main                               prog\n"
		"    0.0  0.0 33.3     30.0  60.0  get                                prog\n"
		"    0.0  0.0 33.3     20.0  40.0  load                               prog\n"
		"\n"
		"note: --by lock shows which locks threads waited for, and their owners; --by fd\n"
		"      which files, pipes and sockets\n");
	profile_free(profile);
}

/* Which lock and who has it are left where there is little room. */
TEST(blame, tables_in_40_columns)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct profile *profile;
	char name[] = "queue_lock";
	uint32_t lock = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", first);

	made_run(&made, "main;write_report", 0, 30);
	made_thread(&made, 100, 101, "worker");
	profile_waits(made.profile)->rows[0].place = made_frame(made.profile, name);
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", lock, 0, 30);
	profile = made_end(&made);
	expect_narrow(profile, "  100.0  queue_lock held in write_report\n");
	expect_table(profile, BY_LOCK, 40,
		     "self%  lock        held by    held in\n"
		     "100.0  queue_lock  prog 100%  wri…report\n");
	expect_table(
		profile, BY_LOCK, 100,
		"self ms     %    ± samples threads  lock        kind   waiting in  held by    "
		"held in\n"
		"   30.0 100.0 39.7       1       1  queue_lock  mutex  get         prog 100%  "
		"write_report\n");
	profile_free(profile);
}

/* The main thread has the lock for the first 30 of 40 ms, and another for the rest. */
TEST(blame, owners_and_what_they_did_meanwhile)
{
	struct made made = made_begin();
	struct thread_id first = made.thread, second, third;
	uint32_t by_first, by_second;
	char name[] = "queue_lock";
	struct profile_wait *rows;

	made_run(&made, "main;parse", 0, 20);
	made_run(&made, "main;store", 20, 35);
	second = made_thread(&made, 100, 101, "worker");
	by_first = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", first);
	by_second = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", second);
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock;libc.so.6!__lll_lock_wait",
		   by_first, 10, 30);
	made_run(&made, "start;put", 30, 40);
	third = made_thread(&made, 100, 102, "other");
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", by_first, 20, 30);
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", by_second, 30, 40);
	assert_int_equal(third.v, 2);
	rows = profile_waits(made.profile)->rows;
	rows[0].place = rows[1].place = made_frame(made.profile, name);
	/* 10 of the 20 ms in which others waited for the first one were in each of its functions.
	 */
	expect_blame(made_end(&made), BY_LOCK,
		     "40 2 mutex queue_lock, in get; prog 75%, worker 25%; parse\n");
}

/* 25 of the 30 ms in which another thread waited were in one function of the C library. */
TEST(blame, owner_in_the_innermost_function)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct profile *profile;
	char name[] = "lg";
	uint32_t lock = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", first);

	made_run(&made, "main;put;libc.so.6!fsync", 0, 25);
	made_run(&made, "main;put;libc.so.6!write", 25, 30);
	made_thread(&made, 100, 101, "worker");
	profile_waits(made.profile)->rows[0].place = made_frame(made.profile, name);
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", lock, 0, 30);
	profile = made_end(&made);
	expect_narrow(profile, "  100.0  lg held in put > fsync 83%\n");
	expect_table(profile, BY_LOCK, 120,
		     "self ms     %    ± samples threads  lock  kind   waiting in  held by    "
		     "held in\n"
		     "   30.0 100.0 39.7       1       1  lg    mutex  get         prog 100%  "
		     "put > fsync 83%\n");
	profile_free(profile);
}

TEST(blame, names_and_kinds_of_locks)
{
	struct made made = made_begin();
	struct thread_id thread = made.thread;
	uint32_t cond = made_wait(&made, WAIT_FUTEX, 0x1028, "[heap]", THREAD_NONE);
	uint32_t same = made_wait(&made, WAIT_FUTEX, 0x102c, "[heap]", THREAD_NONE);
	uint32_t word = made_wait(&made, WAIT_FUTEX, 0x1030, "", THREAD_NONE);
	uint32_t next = made_wait(&made, WAIT_FUTEX, 0x1034, "", THREAD_NONE);
	uint32_t end = made_wait(&made, WAIT_THREAD, 0x2000, "", thread);
	uint32_t looks = made_wait(&made, WAIT_MUTEX, 0x3000, "", thread);
	uint32_t file = made_wait(&made, WAIT_FILE, 3, "/tmp/x", THREAD_NONE);

	/* Two words of one condition, which are waited for by turns; others are what they are. */
	made_sleep(&made, "main;wait;libc.so.6!pthread_cond_wait", cond, 0, 100);
	made_sleep(&made, "main;wait;libc.so.6!___pthread_cond_timedwait64", same, 100, 180);
	made_sleep(&made, "main;park", word, 180, 250);
	made_sleep(&made, "main;park", next, 250, 310);
	made_sleep(&made, "main;libc.so.6!__pthread_clockjoin_ex", end, 310, 360);
	made_sleep(&made, "main;steal", looks, 360, 400);
	made_sleep(&made, "main;libc.so.6!read", file, 400, 430);
	made_sleep(&made, "main;libc.so.6!nanosleep", 0, 430, 449);
	expect_blame(made_end(&made), BY_LOCK,
		     "180 1 cond 0x1028 [heap], in wait; ; \n"
		     "70 1 futex 0x1030, in park; ; \n"
		     "60 1 futex 0x1034, in park; ; \n"
		     "50 1 join end of thread 100 prog, in main; ; \n"
		     "49 1  [no lock], in ; ; \n"
		     "40 1 futex 0x3000, in steal; prog? 100%; \n");
}

/* It is known only some time after the first wait for it was seen. */
TEST(blame, lock_of_an_interpreter_has_its_name_from_then_on)
{
	struct made made = made_begin();
	uint32_t before = made_wait(&made, WAIT_FUTEX, 0x1028, "", THREAD_NONE);
	uint32_t gil = made_wait(&made, WAIT_FUTEX, 0x102c, WAIT_NAME_GIL, THREAD_NONE);

	made_sleep(&made, "main;libc.so.6!pthread_cond_timedwait", before, 0, 10);
	made_sleep(&made, "main;libc.so.6!pthread_cond_timedwait", gil, 20, 50);
	made_sleep(&made, "main;libc.so.6!pthread_cond_timedwait", before, 60, 70);
	expect_blame(made_end(&made), BY_LOCK, "50 1 gil GIL of prog, in main; ; \n");
}

/* Linked statically, or inlined, they are in the module of the program. */
TEST(blame, functions_of_the_language_are_not_the_programs)
{
	struct made made = made_begin();
	uint32_t one = made_wait(&made, WAIT_FUTEX, 0x1000, "", THREAD_NONE);
	uint32_t two = made_wait(&made, WAIT_FUTEX, 0x2000, "", THREAD_NONE);
	uint32_t three = made_wait(&made, WAIT_FUTEX, 0x3000, "", THREAD_NONE);

	made_sleep(&made, "main;want;pthread_mutex_lock;__lll_lock_wait;futex_wait", one, 0, 90);
	made_sleep(&made, "main;load+std::mutex::lock+__gthread_mutex_lock;libc.so.6!read", two, 90,
		   170);
	/* Not every name that begins so is that of a semaphore. */
	made_sleep(&made, "main;sem_of_ours;syscall_of_ours", three, 170, 240);
	expect_blame(made_end(&made), BY_LOCK,
		     "90 1 mutex 0x1000, in want; ; \n"
		     "80 1 futex 0x2000, in load; ; \n"
		     "70 1 futex 0x3000, in syscall_of_ours; ; \n");
}

TEST(blame, descriptors_by_what_is_behind_them)
{
	struct made made = made_begin();
	uint32_t first = made_wait(&made, WAIT_FILE, 7, "socket:[1]", THREAD_NONE);
	uint32_t later = made_wait(&made, WAIT_FILE, 7, "socket:[2]", THREAD_NONE);
	uint32_t other = made_wait(&made, WAIT_FILE, 7, "socket:[3]", THREAD_NONE);
	uint32_t epoll = made_wait(&made, WAIT_FILE, 4, "anon_inode:[eventpoll]", THREAD_NONE);
	uint32_t several = made_wait(&made, WAIT_FILES, 2, "3, 5", THREAD_NONE);
	uint32_t many = made_wait(&made, WAIT_FILES, 900, "", THREAD_NONE);
	uint32_t path = made_wait(&made, WAIT_FILE, 3, "/tmp/x", THREAD_NONE);
	struct str_id peer = profile_intern(made.profile, "socket 10.0.0.1:5432");

	/* Two connections to one peer, one after the other; of another nothing is known. */
	profile_waits_set_peer(profile_waits(made.profile), first - 1, peer);
	profile_waits_set_peer(profile_waits(made.profile), later - 1, peer);
	made_sleep(&made, "main;ask;libc.so.6!recv", first, 0, 50);
	made_sleep(&made, "main;ask;libc.so.6!recv", later, 50, 90);
	made_sleep(&made, "main;ask;libc.so.6!recv", other, 90, 170);
	made_sleep(&made, "main;loop;libc.so.6!epoll_wait", epoll, 170, 240);
	made_sleep(&made, "main;loop;libc.so.6!poll", several, 240, 300);
	made_sleep(&made, "main;loop;libc.so.6!poll", many, 300, 350);
	made_sleep(&made, "main;load;libc.so.6!read", path, 350, 390);
	expect_blame(made_end(&made), BY_FD,
		     "90 1  socket 10.0.0.1:5432 (fd 7), in ask; ; \n"
		     "80 1  socket (fd 7), in ask; ; \n"
		     "70 1  epoll (fd 4), in loop; ; \n"
		     "60 1  one of 2 descriptors (fd 3, 5), in loop; ; \n"
		     "50 1  one of 900 descriptors, in loop; ; \n"
		     "40 1  /tmp/x (fd 3), in load; ; \n");
}

/* A file may say what no recording has. */
TEST(blame, odd_rows_are_told_as_they_are)
{
	struct made made = made_begin();
	uint32_t nobody = made_wait(&made, WAIT_THREAD, 0x2000, "", THREAD_NONE);
	uint32_t any = made_wait(&made, WAIT_MUTEX, WAIT_NUMBER_ANY, "", THREAD_NONE);

	made_sleep(&made, "main", nobody, 0, 30);
	made_sleep(&made, "", any, 30, 50);
	expect_blame(made_end(&made), BY_LOCK,
		     "30 1 join 0x2000, in main; ; \n"
		     "20 1 futex [others, too many to tell apart], in [no stack]; ; \n");
}

TEST(blame, wants_a_recording_that_has_it)
{
	struct made made = made_begin();
	struct err err = ERR_INIT;

	assert_int_equal(blame_require(made.profile, &err), ERR_NOT_FOUND);
	made.profile->meta.knows_waits = true;
	assert_int_equal(blame_require(made.profile, NULL), 0);
	profile_free(made.profile);
}
