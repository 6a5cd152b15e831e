// SPDX-License-Identifier: GPL-2.0-or-later
/* Each rule of the verdict over a made-up profile: the line that it draws, and where it says
 * nothing. */
#include <unistd.h>

#include "base/buf.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "profile/heap.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "verdict/verdict.h"
#include "view/style.h"

/* System calls of x86_64. */
#define SYS_READ      0
#define SYS_MADVISE   28
#define SYS_WRITE     1
#define SYS_FDATASYNC 75
#define SYS_FUTEX     202
#define SYS_EPOLL     232
#define SYS_SLEEP     230
#define SYS_WAIT4     61

static struct made begin(void)
{
	struct made made = made_begin();
	struct profile_meta *meta = &made.profile->meta;

	meta->arch = profile_intern(made.profile, "x86_64");
	meta->knows_waits = meta->knows_calls = true;
	meta->nr_cpus = 4;
	return made;
}

static void run(struct made *made, const char *stack, int nr_samples)
{
	for (int i = 0; i < nr_samples; i++)
		made_sample(made, stack, 10);
}

static void run_in_call(struct made *made, const char *stack, int call, int nr_samples)
{
	for (int i = 0; i < nr_samples; i++)
		made_sample(made, stack, 10)->syscall_nr = (int16_t)call;
}

/* Blocked so many times for 10 ms. */
static void sleep_in(struct made *made, const char *stack, int call, uint32_t wait, int nr_samples)
{
	for (int i = 0; i < nr_samples; i++) {
		struct sample *sample = made_sample(made, stack, 0);

		made->time_ns += 10000000;
		sample->time_ns = made->time_ns;
		sample->kind = SAMPLE_BLOCKED;
		sample->syscall_nr = (int16_t)call;
		sample->wait = wait;
		sample->blocked_ns = 10000000;
		made->profile->meta.duration_ns = made->time_ns;
	}
}

static uint32_t wait_row(struct made *made, enum wait_kind kind, uint64_t number, const char *name,
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

static struct thread_id other_thread(struct made *made, int tid, const char *name)
{
	struct thread_id thread = made_thread(made, 100, tid, name);

	made->time_ns = 0;
	return thread;
}

/* The line and the command below it; frees the profile. */
static void expect(struct made *made, const char *expected)
{
	struct profile *profile = made_end(made);
	struct verdict *verdict = verdict_of_profile(profile);
	struct buf text = {0};

	verdict_append_line(&text, verdict);
	buf_append_byte(&text, '\n');
	verdict_append_command(&text, verdict, NULL);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	verdict_free(verdict);
	profile_free(profile);
}

TEST(verdict, one_hot_function_has_its_callers)
{
	struct made made = begin();

	run(&made, "_start;main;load;libc.so.6!sscanf;libc.so.6!__rawmemchr", 120);
	for (int i = 0; i < 8; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "_start;main;small%d", i);
		run(&made, stack, 10);
	}
	expect(&made, "2.00 s: 100.0% on a CPU: 60.0% in load > sscanf > __rawmemchr\n"
		      "profc report --callers __rawmemchr");
}

TEST(verdict, two_hot_functions_are_both_named)
{
	struct made made = begin();

	run(&made, "_start;main;first@a.c:10", 120);
	run(&made, "_start;main;second@b.c:10", 80);
	expect(&made, "2.00 s: 100.0% on a CPU: 60.0% in first, 40.0% in second\n"
		      "profc annotate first");
}

/* Below the threshold, or above it within its uncertainty. */
TEST(verdict, nothing_stands_out_of_a_flat_profile)
{
	struct made made = begin();

	for (int i = 0; i < 40; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "_start;main;small%d", i);
		run(&made, stack, 5);
	}
	expect(&made, "2.00 s: 100.0% on a CPU: nothing stands out\nprofc report");
	made = begin();
	run(&made, "_start;main;first", 2);
	run(&made, "_start;main;second", 2);
	run(&made, "_start;main;third", 2);
	expect(&made, "60.0 ms: 100.0% on a CPU: nothing stands out\nprofc report");
}

TEST(verdict, a_path_counts_where_no_function_does)
{
	struct made made = begin();

	for (int i = 0; i < 20; i++) {
		char stack[96];

		snprintf(stack, sizeof(stack),
			 "_start;main;exec_query;fkey_cascade_del;scan;?;small%d", i);
		run(&made, stack, 5);
	}
	run(&made, "_start;main;other", 20);
	expect(&made, "1.20 s: 100.0% on a CPU: 83.3% below exec_query > fkey_cascade_del > scan\n"
		      "profc report --callees scan");
}

/* Its functions, each with the native code that it called, say more than those of the interpreter.
 */
TEST(verdict, functions_of_a_script_have_a_table_of_their_own)
{
	struct made made = begin();

	run(&made, "_start;main;app.py!run@app.py:9;php8.2!sort", 120);
	run(&made, "_start;main;app.py!run@app.py:7;php8.2!number", 20);
	expect(&made, "1.40 s: 100.0% on a CPU: 85.7% in run > sort\n"
		      "profc report --by script");
	made = begin();
	run(&made, "_start;main;app.py!run@app.py:9;libc.so.6!memcpy", 120);
	run(&made, "_start;main;app.py!run@app.py:7;php8.2!number", 20);
	expect(&made, "1.40 s: 100.0% on a CPU: 85.7% in run > memcpy\n"
		      "profc report --callers memcpy");
	made = begin();
	for (int i = 0; i < 20; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "_start;main;app.py!run@app.py:9;php8.2!small%d", i);
		run(&made, stack, 5);
	}
	expect(&made, "1.00 s: 100.0% on a CPU: 100.0% below run\n"
		      "profc report --by script");
}

/* Called from two of its lines, and by itself. */
TEST(verdict, a_path_has_all_calls_of_a_function)
{
	struct made made = begin();

	for (int i = 0; i < 20; i++) {
		char stack[96];

		snprintf(stack, sizeof(stack), "_start;main;visit@v.c:%d;%s;small%d", 1 + i % 2,
			 i % 3 ? "leave" : "visit@v.c:9;leave", i);
		run(&made, stack, 5);
	}
	run(&made, "_start;main;other", 20);
	expect(&made, "1.20 s: 100.0% on a CPU: 83.3% below visit > leave\n"
		      "profc report --callees leave");
}

TEST(verdict, a_lock_is_told_with_what_its_owner_did)
{
	struct made made = begin();
	struct thread_id owner;
	uint32_t lock, file;

	owner = other_thread(&made, 101, "srv");
	file = wait_row(&made, WAIT_FILE, 3, "/var/log/app.log", THREAD_NONE);
	sleep_in(&made, "start_thread;serve;Logger::info;libc.so.6!fdatasync", SYS_FDATASYNC, file,
		 100);
	other_thread(&made, 102, "srv");
	lock = wait_row(&made, WAIT_MUTEX, 0x4040, "[heap]", owner);
	sleep_in(&made, "start_thread;serve;Logger::info;libc.so.6!pthread_mutex_lock", SYS_FUTEX,
		 lock, 100);
	other_thread(&made, 103, "srv");
	sleep_in(&made, "start_thread;serve;Logger::info;libc.so.6!pthread_mutex_lock", SYS_FUTEX,
		 lock, 100);
	expect(&made, "1.00 s: 100.0% blocked: 2.00 s for mutex 0x4040 [heap] in Logger::info, "
		      "whose owner was in Logger::info > fdatasync (app.log)\n"
		      "profc report --by lock");
}

TEST(verdict, locks_of_rust_are_locks)
{
	struct made made = begin();
	uint32_t lock = wait_row(&made, WAIT_FUTEX, 0x4040, "[heap]", THREAD_NONE);

	sleep_in(&made,
		 "start_thread;cache::handle;<std::sys::sync::rwlock::futex::RwLock>::read_"
		 "contended;"
		 "libc.so.6!syscall",
		 SYS_FUTEX, lock, 100);
	other_thread(&made, 102, "srv");
	lock = wait_row(&made, WAIT_FUTEX, 0x4044, "[heap]", THREAD_NONE);
	sleep_in(&made,
		 "start_thread;cache::fill;std::sys::unix::locks::futex_rwlock::RwLock::"
		 "write_contended;libc.so.6!syscall",
		 SYS_FUTEX, lock, 100);
	expect(&made, "1.00 s: 100.0% blocked: 2.00 s for rwlock 0x4040 [heap] in cache::handle\n"
		      "profc report --by lock");
	made = begin();
	lock = wait_row(&made, WAIT_FUTEX, 0x4040, "[heap]", THREAD_NONE);
	sleep_in(&made,
		 "start_thread;cache::count;<std::sys::sync::mutex::futex::Mutex>::lock_contended;"
		 "libc.so.6!syscall",
		 SYS_FUTEX, lock, 100);
	expect(&made, "1.00 s: 100.0% blocked: 1.00 s for mutex 0x4040 [heap] in cache::count\n"
		      "profc report --by lock");
}

/* Its lines are of a source that users hardly have; its callers are theirs. */
TEST(verdict, a_function_of_the_c_library_is_shown_by_its_callers)
{
	struct made made = begin();

	run(&made, "_start;main;read_line;libc.so.6!read@read.c:26", 100);
	expect(&made, "1.00 s: 100.0% on a CPU: 100.0% in read_line > read\n"
		      "profc report --callers read");
}

TEST(verdict, what_probes_take_is_said_to_be_profcs)
{
	struct made made = begin();

	run(&made, "_start;main;/memfd:profc-probes-1!heap_write", 200);
	expect(&made,
	       "2.00 s: 100.0% on a CPU: 100.0% in heap_write, by which profc records memory "
	       "and calls\n"
	       "profc report --tree");
}

/* It is a condition for the C library, but no queue of work. */
TEST(verdict, threads_of_python_wait_for_its_lock)
{
	struct made made = begin();

	run(&made, "_start;Py_RunMain;libpython.so!_PyEval_EvalFrameDefault", 200);
	for (int i = 0; i < 3; i++) {
		other_thread(&made, 101 + i, "python3");
		sleep_in(&made,
			 "libpython.so!PyEval_RestoreThread;libpython.so!take_gil;"
			 "libc.so.6!pthread_cond_timedwait",
			 SYS_FUTEX, wait_row(&made, WAIT_FUTEX, 0x5050, "[heap]", THREAD_NONE),
			 200);
	}
	expect(&made, "2.00 s: 25.0% on a CPU, 75.0% blocked: 6.00 s for gil 0x5050 [heap] in "
		      "take_gil\n"
		      "profc report --by lock");
}

/* A queue that is empty is no trouble. */
TEST(verdict, waits_for_work_hide_nothing)
{
	struct made made = begin();
	uint32_t condition;

	run(&made, "_start;main;hot@h.c:3", 200);
	for (int i = 0; i < 4; i++) {
		other_thread(&made, 101 + i, "pool");
		condition = wait_row(&made, WAIT_FUTEX, 0x5050, "[heap]", THREAD_NONE);
		sleep_in(&made, "start_thread;work;libc.so.6!pthread_cond_wait", SYS_FUTEX,
			 condition, 200);
	}
	other_thread(&made, 110, "net");
	sleep_in(&made, "start_thread;loop;libc.so.6!epoll_wait", SYS_EPOLL, 0, 200);
	other_thread(&made, 111, "client");
	sleep_in(&made, "start_thread;client;libc.so.6!read", SYS_READ,
		 wait_row(&made, WAIT_FILE, 9, "socket:[77]", THREAD_NONE), 200);
	expect(&made, "2.00 s: 14.3% on a CPU, 85.7% blocked: 100.0% in hot\n"
		      "profc annotate hot");
}

/* Nothing it does on the side is its trouble. */
TEST(verdict, an_idle_server_is_only_idle)
{
	struct made made = begin();

	sleep_in(&made, "_start;main;libc.so.6!epoll_wait", SYS_EPOLL, 0, 1000);
	run(&made, "_start;main;hot", 30);
	expect(&made, "10.3 s: 2.9% on a CPU, 97.1% blocked: nothing stands out\nprofc report");
}

TEST(verdict, a_call_has_its_file_and_its_caller)
{
	struct made made = begin();
	uint32_t file = wait_row(&made, WAIT_FILE, 4, "/tmp/a.db-journal", THREAD_NONE);

	run_in_call(&made, "_start;main;sqlite3VdbeHalt;libc.so.6!fdatasync", SYS_FDATASYNC, 60);
	sleep_in(&made, "_start;main;sqlite3VdbeHalt;libc.so.6!fdatasync", SYS_FDATASYNC, file,
		 100);
	run(&made, "_start;main;parse", 40);
	expect(&made, "2.00 s: 50.0% on a CPU, 50.0% blocked: 1.60 s in fdatasync of "
		      "/tmp/a.db-journal (fd 4), by sqlite3VdbeHalt\n"
		      "profc report --by fd");
}

/* Between the program's function and the call are Go's own packages, in the same file. */
TEST(verdict, a_call_of_go_has_the_programs_function)
{
	struct made made = begin();
	uint32_t file = wait_row(&made, WAIT_FILE, 3, "/var/state", THREAD_NONE);

	sleep_in(&made,
		 "runtime.goexit;main.saveState;os.(*File).Sync;internal/poll.(*FD).Fsync;"
		 "syscall.Fsync;runtime/internal/syscall.Syscall6",
		 SYS_FDATASYNC, file, 100);
	expect(&made, "1.00 s: 100.0% blocked: 1.00 s in fdatasync of /var/state (fd 3), by "
		      "main.saveState\n"
		      "profc report --by fd");
}

TEST(verdict, a_program_that_sleeps_is_told_so)
{
	struct made made = begin();

	sleep_in(&made, "_start;main;retry;libc.so.6!nanosleep", SYS_SLEEP, 0, 190);
	run(&made, "_start;main;work", 10);
	expect(&made, "2.00 s: 5.0% on a CPU, 95.0% blocked: 1.90 s in clock_nanosleep, by retry\n"
		      "profc report -m wall --by syscall");
}

/* Half a millisecond each, 2,000 times a second. */
TEST(verdict, a_thread_that_polls_is_told_with_its_rate)
{
	struct made made = begin();

	sleep_in(&made, "_start;main;time_sleep;libc.so.6!nanosleep", SYS_SLEEP, 0, 190);
	run(&made, "_start;main;check", 10);
	made.profile->threads[0].nr_switches = 3800;
	expect(&made, "2.00 s: 5.0% on a CPU, 95.0% blocked: prog polls: it woke 3,800 times "
		      "(1,900/s), from sleeps of 500 \xc2\xb5s in clock_nanosleep, by time_sleep\n"
		      "profc report -m blocked --tree");
}

/* The interpreter's own functions would say nothing of the program. */
TEST(verdict, a_script_that_polls_is_told_by_its_function)
{
	struct made made = begin();

	sleep_in(&made,
		 "_start;main;app.py!<module>;app.py!wait_ready;PyObject_Vectorcall;time_sleep;"
		 "libc.so.6!nanosleep",
		 SYS_SLEEP, 0, 190);
	run(&made, "_start;main;app.py!<module>;app.py!check;PyObject_Call", 10);
	made.profile->threads[0].nr_switches = 3800;
	expect(&made, "2.00 s: 5.0% on a CPU, 95.0% blocked: prog polls: it woke 3,800 times "
		      "(1,900/s), from sleeps of 500 \xc2\xb5s in clock_nanosleep, by wait_ready\n"
		      "profc report -m blocked --tree");
}

/* 1.4 of 2 s are system time, 0.1 of them in madvise(2). */
static struct made begin_faulting(uint64_t nr_faults)
{
	struct made made = begin();

	run(&made, "_start;main;fill@f.c:3;libc.so.6!memset", 160);
	run_in_call(&made, "_start;main;give_back;libc.so.6!madvise", SYS_MADVISE, 10);
	run(&made, "_start;main;work", 30);
	made.profile->processes[0].split = (struct cpu_split){.user_ns = 600000000,
							      .system_ns = 1400000000,
							      .nr_faults = nr_faults,
							      .known = true};
	return made;
}

TEST(verdict, page_faults_are_told_before_the_function_that_makes_them)
{
	struct made made = begin_faulting(1300000);

	expect(&made, "2.00 s: 100.0% on a CPU: 1.30 s of CPU time in 1,300,000 page faults "
		      "(650,000/s), of all CPU time 80.0% in fill > memset\n"
		      "profc report --callers memset");
	/* So few cannot have taken that long. */
	made = begin_faulting(1300);
	expect(&made, "2.00 s: 100.0% on a CPU: 80.0% in fill > memset\n"
		      "profc report --callers memset");
}

/* All CPU time is in code of no mapping: there is no function to name. */
TEST(verdict, page_faults_may_be_of_no_known_function)
{
	struct made made = begin();

	run(&made, "??", 200);
	made.profile->processes[0].split =
		(struct cpu_split){.system_ns = 1400000000, .nr_faults = 1300000, .known = true};
	expect(&made, "2.00 s: 100.0% on a CPU: 1.40 s of CPU time in 1,300,000 page faults "
		      "(650,000/s)\n"
		      "profc report --by process");
}

/* The note below a table; frees the profile. */
static void expect_note(struct made *made, enum dimension by, const char *expected)
{
	const struct filter everything = {.from_ns = 0};
	const struct view view = {.columns = 100};
	struct profile *profile = made_end(made);
	struct expansion *expansion = expansion_new(profile, false);
	struct sink sink = SINK_MEMORY;
	struct selection *selection;

	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	verdict_print_notes(selection, by, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

/* Two threads poll, one hardly sleeps although it is often driven off its CPU. */
static struct made begin_polling(void)
{
	struct made made = begin();

	run(&made, "_start;main;check", 200);
	sleep_in(&made, "_start;main;rest;libc.so.6!nanosleep", SYS_SLEEP, 0, 1);
	other_thread(&made, 101, "poller");
	sleep_in(&made, "start_thread;time_sleep;libc.so.6!nanosleep", SYS_SLEEP, 0, 190);
	other_thread(&made, 102, "poller");
	sleep_in(&made, "start_thread;other_sleep;libc.so.6!nanosleep", SYS_SLEEP, 0, 150);
	for (size_t i = 0; i < made.profile->nr_threads; i++)
		made.profile->threads[i].nr_switches = 3800;
	made.profile->meta.duration_ns = 2000000000;
	return made;
}

TEST(verdict, tables_have_a_note_about_threads_that_poll)
{
	struct made made = begin_polling();

	expect_note(
		&made, BY_THREAD,
		"\nnote: thread 101 poller polls: it woke 3,800 times (1,900/s), from sleeps of "
		"500 \xc2\xb5s in\n      clock_nanosleep, by time_sleep; thread 102 poller polls: "
		"it woke 3,800 times (1,900/s), from\n      sleeps of 395 \xc2\xb5s in "
		"clock_nanosleep, by other_sleep\n");
	made = begin_polling();
	expect_note(
		&made, BY_PROCESS,
		"\nnote: prog: poller polls: it woke 3,800 times (1,900/s), from sleeps of 500 "
		"\xc2\xb5s in clock_nanosleep,\n      by time_sleep (and 1 more of its threads)\n");
	made = begin_polling();
	expect_note(&made, BY_FUNCTION, "");
	made = begin_polling();
	/* Ten times a second is no polling. */
	for (size_t i = 0; i < made.profile->nr_threads; i++)
		made.profile->threads[i].nr_switches = 20;
	expect_note(&made, BY_THREAD, "");
}

TEST(verdict, tables_have_a_note_about_page_faults)
{
	struct made made = begin_faulting(1300000);

	expect_note(&made, BY_PROCESS,
		    "\nnote: prog: 1.30 s of CPU time in 1,300,000 page faults (650,000/s)\n");
	/* The thread's own were not counted. */
	made = begin_faulting(1300000);
	expect_note(&made, BY_THREAD, "");
	made = begin_faulting(1300000);
	made.profile->threads[0].split = made.profile->processes[0].split;
	expect_note(&made, BY_THREAD,
		    "\nnote: thread 100 prog: 1.30 s of CPU time in 1,300,000 page faults "
		    "(650,000/s)\n");
	made = begin_faulting(1300);
	expect_note(&made, BY_PROCESS, "");
}

TEST(verdict, a_descriptor_counts_over_several_calls)
{
	struct made made = begin();
	uint32_t peer = wait_row(&made, WAIT_FILE, 5, "socket:[12]", THREAD_NONE);
	/* readv, writev, sendto, recvfrom, sendmsg and recvmsg */
	const int calls[] = {SYS_READ, SYS_WRITE, 19, 20, 44, 45, 46, 47};

	run(&made, "_start;main;work", 20);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		sleep_in(&made, "_start;main;query;libc.so.6!recv", calls[i], peer, 20);
	expect(&made, "1.80 s: 11.1% on a CPU, 88.9% blocked: 1.60 s for socket (fd 5) in query\n"
		      "profc report --by fd");
}

TEST(verdict, a_child_that_was_not_recorded_is_told)
{
	struct made made = begin();

	run(&made, "_start;main;work", 10);
	sleep_in(&made, "_start;main;libc.so.6!wait4", SYS_WAIT4, 0, 190);
	expect(&made, "2.00 s: 5.0% on a CPU, 95.0% blocked: 1.90 s for a child process that was "
		      "not recorded\n"
		      "profc report -m blocked --tree");
}

/* Children that were recorded are what the time went to. */
TEST(verdict, a_recorded_child_takes_the_time_of_its_parent)
{
	struct made made = begin();

	sleep_in(&made, "_start;main;libc.so.6!wait4", SYS_WAIT4, 0, 200);
	made_thread(&made, 200, 200, "cc1");
	made.profile->processes[1].parent = 0;
	made.time_ns = 0;
	run(&made, "_start;main;parse@p.c:3", 200);
	expect(&made, "2.00 s: 50.0% on a CPU, 50.0% blocked: 100.0% in parse\n"
		      "profc annotate parse");
}

TEST(verdict, short_processes_are_counted_by_name)
{
	struct made made = begin();

	for (int i = 0; i < 100; i++) {
		struct profile_process *process;

		made_thread(&made, 200 + i, 200 + i, i % 4 ? "awk" : "cut");
		process = &made.profile->processes[made.profile->nr_processes - 1];
		process->parent = 0;
		process->start_ns = made.time_ns + 1;
		run(&made, "_start;main;small", 1);
		process->end_ns = made.time_ns;
	}
	expect(&made, "1.00 s: 100.0% on a CPU: 100 processes that lived for less than 0.1 s "
		      "(100/s): 75 awk, 25 cut\n"
		      "profc report --by process");
}

TEST(verdict, busy_threads_are_more_than_cpus)
{
	struct made made = begin();

	made.profile->meta.nr_cpus = 1;
	for (int thread = 0; thread < 5; thread++) {
		other_thread(&made, 101 + thread, "worker");
		for (int i = 0; i < 40; i++) {
			char stack[32];

			snprintf(stack, sizeof(stack), "start_thread;work;small%d", i);
			made_sample(&made, stack, 5)->runq_ns = 20000000;
		}
	}
	made.profile->meta.duration_ns = 1000000000;
	expect(&made, "1.00 s: 20.0% on a CPU, 80.0% waiting for one: 5.0 threads at a time for 1 "
		      "CPU\n"
		      "profc report -m runq --by thread");
}

/* Of a second of four CPUs. */
static void have_machine(struct made *made, uint64_t busy_ms, uint64_t stolen_ms)
{
	struct profile *profile = made->profile;
	struct profile_other row = {.name = profile_intern(profile, "cc1"), .cpu_ns = 1240000000};

	profile_set_counter(profile, "machine_busy_ns", busy_ms * 1000000);
	profile_set_counter(profile, "machine_idle_ns", (4000 - busy_ms - stolen_ms) * 1000000);
	profile_set_counter(profile, "machine_stolen_ns", stolen_ms * 1000000);
	profile_add_other(profile, &row);
	row = (struct profile_other){profile_intern(profile, "make"), true, 880000000};
	profile_add_other(profile, &row);
	row = (struct profile_other){profile_intern(profile, "sshd"), false, 10000000};
	profile_add_other(profile, &row);
}

static struct made wait_for_a_cpu(void)
{
	struct made made = begin();

	for (int i = 0; i < 40; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;small%d", i);
		made_sample(&made, stack, 5)->runq_ns = 20000000;
	}
	made.profile->meta.duration_ns = 1000000000;
	return made;
}

/* Two threads that work for a second, and a main thread in a call meanwhile. */
static struct made busy_pool(int call_of_main)
{
	struct made made = begin();

	sleep_in(&made, "_start;main;loop;libc.so.6!wait", call_of_main, 0, 100);
	for (int tid = 101; tid <= 102; tid++) {
		other_thread(&made, tid, "srv");
		run(&made, "start_thread;worker;hash;digest", 100);
	}
	return made;
}

TEST(verdict, a_pool_that_has_no_free_thread_is_told)
{
	struct made made = busy_pool(SYS_EPOLL);

	expect(&made, "1.00 s: 66.7% on a CPU, 33.3% blocked: all 2 threads of worker had work for "
		      "100.0% of the time, so that what else they are given waits: 100.0% in "
		      "worker > hash > digest\n"
		      "profc report --callees worker");
}

/* One in five would do: all of them have work for the rest of the time at least. */
TEST(verdict, a_pool_may_have_a_free_thread_at_times)
{
	struct made made = busy_pool(SYS_EPOLL);

	other_thread(&made, 103, "srv");
	run(&made, "start_thread;worker;hash;digest", 80);
	sleep_in(&made, "start_thread;worker;libc.so.6!pthread_cond_wait", SYS_FUTEX, 0, 20);
	expect(&made, "1.00 s: 70.0% on a CPU, 30.0% blocked: all 3 threads of worker had work for "
		      "80.0% of the time, so that what else they are given waits: 100.0% in "
		      "worker > hash > digest\n"
		      "profc report --callees worker");
}

static void expect_hot_digest(struct made *made, const char *state)
{
	char expected[200];

	snprintf(expected, sizeof(expected),
		 "%s: 100.0%% in worker > hash > digest\nprofc report --callers digest", state);
	expect(made, expected);
}

TEST(verdict, a_pool_with_a_free_thread_is_none)
{
	struct made made = busy_pool(SYS_EPOLL);

	other_thread(&made, 103, "srv");
	sleep_in(&made, "start_thread;worker;libc.so.6!pthread_cond_wait", SYS_FUTEX, 0, 100);
	expect_hot_digest(&made, "1.00 s: 50.0% on a CPU, 50.0% blocked");
}

/* They compute, and main() waits for them: nobody gives them more. */
TEST(verdict, threads_that_no_one_feeds_are_no_pool)
{
	struct made made = busy_pool(SYS_FUTEX);

	expect_hot_digest(&made, "1.00 s: 66.7% on a CPU, 33.3% blocked");
}

TEST(verdict, threads_of_different_functions_are_no_pool)
{
	static const char *const names[] = {"worker", "cleaner", "writer"};
	struct made made = begin();

	sleep_in(&made, "_start;main;loop;libc.so.6!wait", SYS_EPOLL, 0, 100);
	for (int i = 0; i < 3; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "start_thread;%s;hash;digest", names[i]);
		other_thread(&made, 101 + i, "srv");
		run(&made, stack, 100);
	}
	expect(&made, "1.00 s: 75.0% on a CPU, 25.0% blocked: 100.0% in hash > digest\n"
		      "profc report --callers digest");
}

TEST(verdict, others_had_the_cpus)
{
	struct made made = wait_for_a_cpu();

	expect(&made, "1.00 s: 20.0% on a CPU, 80.0% waiting for one: 800 ms waiting for a CPU, "
		      "which others had, or a limit kept from it\n"
		      "profc report -m runq --by thread");
}

/* It waits for something else nearly all of the time. */
TEST(verdict, others_did_not_have_the_cpus_for_long)
{
	struct made made = wait_for_a_cpu();

	made.profile->meta.duration_ns = 5000000000;
	expect(&made, "5.00 s: 20.0% on a CPU, 80.0% waiting for one: nothing stands out\n"
		      "profc report");
}

TEST(verdict, programs_that_had_the_cpus_are_named)
{
	struct made made = wait_for_a_cpu();

	have_machine(&made, 3920, 80);
	expect(&made, "1.00 s: 20.0% on a CPU, 80.0% waiting for one: 800 ms waiting for a CPU: "
		      "CPUs 98% busy, 5% with this program, and 2% taken by the host; cc1 31%, "
		      "children of make 22%\n"
		      "profc report -m runq --by thread");
	made = wait_for_a_cpu();
	have_machine(&made, 2480, 0);
	expect(&made, "1.00 s: 20.0% on a CPU, 80.0% waiting for one: 800 ms waiting for a CPU: "
		      "CPUs 62% busy, 5% with this program; cc1 31%, children of make 22%; a limit "
		      "kept it from the idle ones\n"
		      "profc report -m runq --by thread");
}

static void allocate(struct made *made, const char *stack, int nr, uint64_t bytes)
{
	for (int i = 0; i < nr; i++)
		made_block(made, stack, bytes, 0, 1000);
}

TEST(verdict, memory_that_grows_goes_before_all_else)
{
	struct made made = begin();

	allocate(&made, "_start;main;feed_monitors;libc.so.6!malloc", 200, 65536);
	expect(&made, "205 ms: 12.5 MiB not freed, allocated by feed_monitors, growing by "
		      "61.0 MiB/s\n"
		      "profc report --leaks");
}

/* What was allocated at the beginning and is kept does not grow. */
/* The caller says more than the functions around malloc(3). */
TEST(verdict, memory_that_grows_is_told_by_what_is_outside_of_allocators)
{
	struct made made = begin();

	allocate(&made,
		 "_start;main;feed_monitors;add_reply;zmalloc_usable;try_Alloc;libc.so.6!malloc",
		 200, 65536);
	expect(&made, "205 ms: 12.5 MiB not freed, allocated by feed_monitors > add_reply, growing "
		      "by 61.0 MiB/s\n"
		      "profc report --leaks");
	made = begin();
	allocate(&made, "alloc_all;libc.so.6!malloc", 200, 65536);
	expect(&made, "205 ms: 12.5 MiB not freed, allocated by alloc_all, growing by 61.0 MiB/s\n"
		      "profc report --leaks");
}

TEST(verdict, memory_that_is_kept_does_not_grow)
{
	struct made made = begin();

	allocate(&made, "_start;main;load;libc.so.6!malloc", 200, 65536);
	made.time_ns += UINT64_C(1000000000);
	run(&made, "_start;main;hot@h.c:3", 100);
	expect(&made, "2.20 s: 100.0% on a CPU: 100.0% in hot\nprofc annotate hot");
}

static void expect_missing(const struct verdict *verdict, enum verdict_rule rule, const char *why)
{
	const struct verdict_finding *finding = &verdict->findings[rule];

	assert_int_equal(finding->state, VERDICT_UNKNOWN);
	assert_string_equal(finding->missing, why);
	assert_null(finding->text);
}

/* An earlier version recorded no waits, no switches, no faults and not how many CPUs there are. */
TEST(verdict, a_rule_says_what_was_not_recorded)
{
	struct made made = begin();
	const struct view view = {.columns = 80};
	struct sink text = SINK_MEMORY, json = SINK_MEMORY;
	struct profile *profile;
	struct verdict *verdict;

	made.profile->meta.knows_waits = made.profile->meta.knows_calls = false;
	made.profile->meta.nr_cpus = 0;
	run(&made, "_start;main;hot", 120);
	profile = made_end(&made);
	verdict = verdict_of_profile(profile);
	expect_missing(verdict, VERDICT_GROWTH, "memory was not recorded (--mem)");
	expect_missing(verdict, VERDICT_LOCK,
		       "the recording does not have what threads waited for");
	expect_missing(verdict, VERDICT_POLLING, "how often threads woke was not recorded");
	expect_missing(verdict, VERDICT_FAULTS, "page faults were not counted");
	expect_missing(verdict, VERDICT_THREADS, "the number of CPUs is not known");
	verdict_print_text(verdict, &view, NULL, &text);
	assert_non_null(strstr(buf_str(&text.pending),
			       "  CPU time in page faults: page faults were not counted\n"));
	verdict_print_json(verdict, NULL, &json);
	assert_non_null(strstr(buf_str(&json.pending), "\"page faults were not counted\""));
	sink_release(&text);
	sink_release(&json);
	verdict_free(verdict);
	profile_free(profile);
}

/* Above a report its own command is no advice. */
TEST(verdict, a_head_has_a_command_if_something_stands_out)
{
	const struct view view = {.columns = 80};

	for (int i = 0; i < 2; i++) {
		struct made made = begin();
		struct sink head = SINK_MEMORY, text = SINK_MEMORY;
		struct profile *profile;
		struct verdict *verdict;

		run(&made, "_start;main;first", i ? 120 : 2);
		run(&made, "_start;main;second", 2);
		profile = made_end(&made);
		verdict = verdict_of_profile(profile);
		verdict_print_head(verdict, &view, NULL, &head);
		verdict_print_text(verdict, &view, NULL, &text);
		assert_int_equal(strstr(buf_str(&head.pending), "\nhint: profc ") != NULL, i);
		assert_non_null(strstr(buf_str(&text.pending), "\nhint: profc "));
		sink_release(&head);
		sink_release(&text);
		verdict_free(verdict);
		profile_free(profile);
	}
}

static size_t nr_lines(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

/* Names that are long and hostile fit the promised bounds, and are escaped. */
TEST(verdict, output_is_bounded)
{
	struct made made = begin();
	struct view view = {.columns = 80};
	struct sink text = SINK_MEMORY, json = SINK_MEMORY;
	struct profile *profile;
	struct verdict *verdict;
	char stack[600] = "_start;main;";

	for (int i = 0; i < 250; i++)
		strcat(stack, i % 2 ? "\x1b" : "<");
	run(&made, stack, 120);
	strcat(stack, "x");
	run(&made, stack, 80);
	profile = made_end(&made);
	verdict = verdict_of_profile(profile);
	verdict_print_text(verdict, &view, "a file", &text);
	verdict_print_json(verdict, "a file", &json);
	assert_true(nr_lines(buf_str(&text.pending)) <= 60);
	assert_true(json.pending.nr_bytes <= 8000);
	assert_null(strchr(buf_str(&text.pending), '\x1b'));
	assert_non_null(strstr(buf_str(&text.pending), "hint: profc report --tree -i 'a file'\n"));
	sink_release(&text);
	sink_release(&json);
	verdict_free(verdict);
	profile_free(profile);
}

/* As an option it could have the command write, or run, what the program likes. */
TEST(verdict, name_that_is_an_option_is_no_word_of_the_command)
{
	struct made made = begin();

	run(&made, "_start;main;--output=x@h.c:3", 220);
	expect(&made, "2.20 s: 100.0% on a CPU: 100.0% in --output=x\nprofc report --tree");
}

/* Each is a row, whose parent is the one before: none is looked for from each of them anew. */
TEST(verdict, process_that_executes_all_the_time_is_one)
{
	struct made made = begin();

	run(&made, "_start;main;hot@h.c:3", 220);
	for (uint32_t i = 0; i < 500000; i++) {
		struct profile_process row = made.profile->processes[i];

		row.parent = i;
		profile_add_process(made.profile, &row);
	}
	alarm(60);
	expect(&made, "2.20 s: 100.0% on a CPU: 100.0% in hot\nprofc annotate hot");
	alarm(0);
}
