// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "roster/attached.h"
#include "roster/roster_priv.h"
#include "tests/unit/unit.h"

/* The events so far. */
struct heard {
	int nr_born, nr_gone, nr_threads;
	uint64_t dead_ns; /* of the last that is gone */
};

static void process_born(void *context, struct roster_process *process,
			 struct roster_process *parent, bool is_exec)
{
	struct heard *heard = context;

	(void)process;
	(void)parent;
	(void)is_exec;
	heard->nr_born++;
}

static void process_gone(void *context, struct roster_process *process)
{
	struct heard *heard = context;

	heard->nr_gone++;
	heard->dead_ns = process->dead_ns;
}

static void thread_born(void *context, struct roster_thread *thread, bool is_new)
{
	struct heard *heard = context;

	(void)thread;
	(void)is_new;
	heard->nr_threads++;
}

static void thread_gone(void *context, struct roster_thread *thread)
{
	struct heard *heard = context;

	heard->nr_threads--;
	roster_release_thread(thread);
}

static struct roster *new_roster(struct heard *heard)
{
	const struct roster_listener listener = {.context = heard,
						 .process_born = process_born,
						 .process_gone = process_gone,
						 .thread_born = thread_born,
						 .thread_gone = thread_gone};

	return roster_new(&listener, true, 0);
}

TEST(roster, unreaped_command_is_over)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	siginfo_t ended;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	roster_add_command(roster, pid);
	assert_int_equal(roster_nr_processes(roster), 1);
	assert_int_equal(heard.nr_threads, 1);
	assert_false(roster_end_if_dead(roster, pid));
	assert_int_equal(roster_nr_processes(roster), 1);

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_true(roster_end_if_dead(roster, pid));
	assert_int_equal(roster_nr_processes(roster), 0);
	assert_int_equal(heard.nr_threads, 0);
	assert_int_equal(heard.nr_born, 1);
	assert_int_equal(heard.nr_gone, 1);
	assert_false(roster_end_if_dead(roster, pid));
	assert_int_equal(heard.nr_gone, 1);

	assert_int_equal(waitpid(pid, NULL, 0), pid);
	roster_free(roster);
}

/* More than are asked one by one. Orphans of a command are our children, as these are. */
#define NR_CHILDREN 80

static void begin_children(pid_t *pids)
{
	for (int i = 0; i < NR_CHILDREN; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
		assert_true(pids[i] > 0);
	}
}

static void end_children(const pid_t *pids)
{
	for (int i = 0; i < NR_CHILDREN; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < NR_CHILDREN; i++)
		waitpid(pids[i], NULL, 0);
}

/* One after the other, each reaped at once if they are to be. */
static void run_children(int nr, bool are_reaped)
{
	for (int i = 0; i < nr; i++) {
		siginfo_t ended;
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		assert_true(pid > 0);
		assert_int_equal(
			waitid(P_PID, (id_t)pid, &ended, WEXITED | (are_reaped ? 0 : WNOWAIT)), 0);
	}
}

/* The machine may give away other ids meanwhile, of which some may count. */
TEST(roster, processes_that_ended_before_a_poll_are_counted)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	pid_t lasting[NR_CHILDREN];

	roster_poll(roster, 1);
	assert_true(roster_nr_unseen(roster) == 0);
	begin_children(lasting);
	run_children(300, true);
	roster_poll_all(roster, 1);
	assert_int_equal(roster_nr_processes(roster), NR_CHILDREN);
	assert_in_range(roster_nr_unseen(roster), 150, 600);
	end_children(lasting);
	roster_free(roster);
}

TEST(roster, processes_that_were_not_reaped_yet_are_counted_once)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);

	roster_poll(roster, 1);
	run_children(300, false);
	roster_poll_all(roster, 1);
	assert_int_equal(roster_nr_processes(roster), 0);
	assert_in_range(roster_nr_unseen(roster), 300, 600);
	run_children(1, true);
	roster_poll_all(roster, 1);
	assert_in_range(roster_nr_unseen(roster), 300, 600);
	while (waitpid(-1, NULL, 0) > 0)
		;
	roster_free(roster);
}

/* Births are likely at first, and then each poll finds them; in a quiet time every few ms does. */
TEST(roster, births_are_found_at_ease_after_a_pause)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	uint64_t now_ns;
	pid_t pid;

	roster_poll(roster, 1);
	now_ns = clock_monotonic_ns();
	roster_poll_at_ease(roster, now_ns);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	roster->news_ns = now_ns - NS_PER_SEC; /* as if nothing had been born for long */
	roster->polled_ns = now_ns;
	assert_false(roster_poll_at_ease(roster, now_ns + NS_PER_MS));
	assert_int_equal(roster_nr_processes(roster), 0);
	assert_true(roster_poll_at_ease(roster, now_ns + 4 * NS_PER_MS));
	assert_int_equal(roster_nr_processes(roster), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	roster_free(roster);
}

/* The second poll comes too soon after the sweep of the first one. */
TEST(roster, births_beyond_a_sweep_are_found_where_they_are_needed)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	pid_t first[NR_CHILDREN], second[NR_CHILDREN], pid;

	roster_poll(roster, 1);
	begin_children(first);
	roster_poll(roster, 1);
	assert_int_equal(roster_nr_processes(roster), NR_CHILDREN);
	begin_children(second);
	roster_poll(roster, 1);
	assert_int_equal(roster_nr_processes(roster), NR_CHILDREN);

	pid = second[NR_CHILDREN - 1];
	assert_non_null(roster_look_for(roster, pid));
	assert_ptr_equal(roster_look_for(roster, pid), roster_find_process(roster, pid));
	assert_int_equal(roster_nr_processes(roster), NR_CHILDREN + 1);
	roster_poll_all(roster, 1);
	assert_int_equal(roster_nr_processes(roster), 2 * NR_CHILDREN);
	assert_int_equal(heard.nr_born, 2 * NR_CHILDREN);
	end_children(second);
	end_children(first);
	roster_free(roster);
}

/* A sweep of so many takes longer than to read the new ones, and would not come at once. */
TEST(roster, births_among_many_processes_are_found_without_a_sweep)
{
	enum { NR_LARGE = 6 };
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	pid_t many[NR_LARGE][NR_CHILDREN], born[NR_CHILDREN];

	roster_poll(roster, 1);
	for (int i = 0; i < NR_LARGE; i++)
		begin_children(many[i]);
	roster_poll_all(roster, 1);
	assert_int_equal(roster_nr_processes(roster), NR_LARGE * NR_CHILDREN);
	begin_children(born);
	roster_poll(roster, 1);
	assert_int_equal(roster_nr_processes(roster), (NR_LARGE + 1) * NR_CHILDREN);
	end_children(born);
	for (int i = 0; i < NR_LARGE; i++)
		end_children(many[i]);
	roster_free(roster);
}

/* A shell that is recorded by the profc that it has started. */
TEST(roster, a_sweep_leaves_out_its_own_process)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);

	roster_poll(roster, 1);
	assert_int_equal(roster_add_root(roster, getppid(), NULL), 0);
	run_children(NR_CHILDREN, true);
	roster_poll(roster, clock_monotonic_ns());
	assert_non_null(roster_find_process(roster, getppid()));
	assert_null(roster_find_process(roster, getpid()));
	roster_free(roster);
}

TEST(roster, unknown_parent_is_found_with_its_child)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	int ends[2];
	pid_t parent, child;

	roster_poll(roster, 1);
	assert_int_equal(pipe(ends), 0);
	parent = fork();
	if (parent == 0) {
		child = fork();
		if (child == 0)
			pause();
		if (write(ends[1], &child, sizeof(child)) == sizeof(child))
			pause();
		_exit(1);
	}
	assert_true(parent > 0);
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));

	assert_non_null(roster_look_for(roster, child));
	assert_non_null(roster_find_process(roster, parent));
	assert_int_equal(heard.nr_born, 2);
	assert_null(roster_look_for(roster, getppid()));
	assert_null(roster_look_for(roster, 0));
	kill(child, SIGKILL);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	roster_free(roster);
}

static pid_t paused_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

/* A child with a child; both pause. */
static pid_t family(pid_t *grandchild)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		pid_t pid = paused_child();

		if (write(ends[1], &pid, sizeof(pid)) == sizeof(pid))
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], grandchild, sizeof(*grandchild)), sizeof(*grandchild));
	close(ends[0]);
	close(ends[1]);
	return child;
}

static void end_family(pid_t child, pid_t grandchild)
{
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(attached, has_descendants_after_their_parents)
{
	pid_t grandchild, child = family(&grandchild);
	struct attached attached = {calloc(1, sizeof(pid_t)), 1, 1};

	attached.pids[0] = child;
	attached_add_descendants(&attached);
	assert_int_equal(attached.nr_named, 1);
	assert_int_equal(attached.nr, 2);
	assert_int_equal(attached.pids[1], grandchild);
	/* Once each. */
	attached_add_descendants(&attached);
	assert_int_equal(attached.nr, 2);
	attached_release(&attached);
	end_family(child, grandchild);
}

TEST(attached, has_not_this_process)
{
	pid_t grandchild, child = family(&grandchild);
	struct attached attached = {calloc(1, sizeof(pid_t)), 1, 1};

	attached.pids[0] = getppid();
	attached_add_descendants(&attached);
	for (size_t i = 0; i < attached.nr; i++) {
		assert_int_not_equal(attached.pids[i], getpid());
		assert_int_not_equal(attached.pids[i], child);
	}
	attached_release(&attached);
	end_family(child, grandchild);
}

TEST(roster, adds_the_descendants_that_run)
{
	struct heard heard = {0};
	const struct roster_listener listener = {.context = &heard,
						 .process_born = process_born,
						 .process_gone = process_gone,
						 .thread_born = thread_born,
						 .thread_gone = thread_gone};
	struct roster *roster = roster_new(&listener, true, 0);
	pid_t grandchild, child = family(&grandchild);

	roster_add_command(roster, child);
	assert_int_equal(roster_add_descendants(roster), 1);
	assert_non_null(roster_find_process(roster, grandchild));
	assert_int_equal(roster_add_descendants(roster), 0);
	assert_int_equal(heard.nr_born, 2);
	end_family(child, grandchild);
	roster_end_if_dead(roster, grandchild);
	roster_end_if_dead(roster, child);
	roster_free(roster);
}

/* Also if the end of the parent is found first. */
TEST(roster, child_that_is_dead_when_its_parent_ends_has_ended_before)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	pid_t grandchild, child = family(&grandchild);
	uint64_t before_ns = clock_monotonic_ns(), found_ns;

	roster_add_command(roster, child);
	assert_int_equal(roster_add_descendants(roster), 1);
	end_family(child, grandchild);
	while (!roster_is_dead(grandchild))
		sched_yield();
	assert_true(roster_end_if_dead(roster, child));
	assert_int_equal(heard.dead_ns, 0);
	found_ns = clock_monotonic_ns();
	assert_true(roster_end_if_dead(roster, grandchild));
	assert_in_range(heard.dead_ns, before_ns, found_ns);
	roster_free(roster);
}

TEST(roster, child_that_lives_on_when_its_parent_ends_has_no_end_yet)
{
	struct heard heard = {0};
	struct roster *roster = new_roster(&heard);
	pid_t grandchild, child = family(&grandchild);

	roster_add_command(roster, child);
	assert_int_equal(roster_add_descendants(roster), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(roster_end_if_dead(roster, child));
	assert_int_equal(roster_find_process(roster, grandchild)->dead_ns, 0);
	assert_null(roster_find_process(roster, grandchild)->parent);
	kill(grandchild, SIGKILL);
	roster_free(roster);
}
