// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model of `profc whatif`: threads, queues, locks, CPUs and holds are numbers, and what the
 * experiment predicts is compared with the same program with the faster function.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "tests/unit/unit.h"
#include "whatif/accounts.h"
#include "whatif/plan.h"

#define US NS_PER_US
#define MS NS_PER_MS

/* As those of lib/holding. */
#define LOOK_NS	  (250 * US)
#define POLL_NS	  (250 * US)
#define STOP_NS	  (20 * US)
#define LATE_NS	  (5 * US) /* a hold ends so much too late */
#define LEAD_NS	  (80 * MS)
#define WINDOW_NS (320 * MS)

#define SLICE_NS    (3 * MS)
#define THREADS_MAX 64
#define OBJECTS	    2

/* --- programs --- */

enum function { F = 1, G, H };

enum step_kind {
	WORK, /* in a function, for some microseconds */
	LOCK,
	SPIN, /* LOCK, awake */
	UNLOCK,
	PUSH,
	POP,
	MEET, /* a barrier */
	NAP,
	PAUSE, /* a NAP, of that length in the mean: many are short, and some long */
	ENTER, /* a request is inside until PROGRESS */
	PROGRESS,
	AGAIN, /* the last one */
};

struct step {
	enum step_kind kind;
	int which; /* function or object */
	uint32_t us;
};

struct program {
	const struct step *threads[THREADS_MAX];
	unsigned int nr_threads, nr_cpus, queue_room;
	double jitter; /* work takes up to this part less or more */
};

/* --- a machine that runs one --- */

enum run { READY, RUNNING, BLOCKED, NAPPING };

struct thread {
	const struct step *steps;
	size_t at;
	enum run run;
	int64_t left_ns; /* of its work; -1: not begun */
	int64_t slice_ns;
	uint64_t until_ns; /* of a nap */
	uint64_t turn;	   /* those that wait longest come first */
	uint64_t cpu_ns, slept_ns;
	/* The holder's part. */
	bool is_held;
	uint64_t counted_ns, hold_until_ns;
	uint64_t sampled_cpu_ns;
	bool was_napping;
	struct whatif_account account;
};

struct machine {
	const struct program *program;
	struct thread threads[THREADS_MAX];
	unsigned int queued[OBJECTS], met[OBJECTS];
	bool is_locked[OBJECTS];
	uint64_t now_ns, turns, progress, random;
	uint64_t entered, pauses; /* pauses: random numbers of their own, the same in all runs */
	double area_ns;		  /* of all requests together: how long they were inside */
	int faster;		  /* this function really is, by: */
	double part;
	struct whatif_accounts accounts;
	uint64_t look_ns;
	struct whatif_flow flow; /* of half a window */
};

static double random_part(struct machine *machine)
{
	uint64_t x = machine->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	machine->random = x;
	return (double)(x >> 11) * 0x1p-53;
}

static int64_t nr_inside(const struct machine *machine)
{
	return (int64_t)(machine->entered - machine->progress);
}

/* As long in the mean, and at random as requests that do not know of each other. */
static uint64_t pause_ns(struct machine *machine, uint32_t mean_us)
{
	uint64_t x = machine->pauses;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	machine->pauses = x;
	return (uint64_t)(-log(((double)(x >> 11) + 1) * 0x1p-53) * mean_us * US) + 1;
}

static void wake(struct machine *machine, struct thread *thread)
{
	thread->run = READY;
	thread->turn = machine->turns++;
}

static void block(struct machine *machine, struct thread *thread)
{
	thread->run = BLOCKED;
	thread->turn = machine->turns++;
}

/* Wake the thread that is blocked longest in such a step. */
static void wake_one(struct machine *machine, enum step_kind kind, int which)
{
	struct thread *first = NULL;

	for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
		struct thread *thread = &machine->threads[i];
		const struct step *step = &thread->steps[thread->at];

		if (thread->run == BLOCKED && step->kind == kind && step->which == which &&
		    (!first || thread->turn < first->turn))
			first = thread;
	}
	if (first)
		wake(machine, first);
}

static void wake_all_that_meet(struct machine *machine, int which)
{
	for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
		struct thread *thread = &machine->threads[i];
		const struct step *step = &thread->steps[thread->at];

		if (thread->run != BLOCKED || step->kind != MEET || step->which != which)
			continue;
		thread->at++;
		wake(machine, thread);
	}
}

static void begin_work(struct machine *machine, struct thread *thread, const struct step *step)
{
	double ns = (double)step->us * US;

	ns *= 1 + machine->program->jitter * (2 * random_part(machine) - 1);
	if (step->which == machine->faster)
		ns *= 1 - machine->part;
	thread->left_ns = (int64_t)ns;
}

/* One step; false: it takes time, or waits. */
static bool do_step(struct machine *machine, struct thread *thread)
{
	const struct step *step = &thread->steps[thread->at];
	int which = step->which;

	switch (step->kind) {
	case WORK:
		if (thread->left_ns < 0)
			begin_work(machine, thread, step);
		if (thread->left_ns > 0)
			return false;
		thread->left_ns = -1;
		break;
	case LOCK:
		if (machine->is_locked[which]) {
			block(machine, thread);
			return false;
		}
		machine->is_locked[which] = true;
		break;
	case SPIN:
		if (machine->is_locked[which]) {
			thread->left_ns = US;
			return false;
		}
		thread->left_ns = -1;
		machine->is_locked[which] = true;
		break;
	case UNLOCK:
		machine->is_locked[which] = false;
		wake_one(machine, LOCK, which);
		break;
	case PUSH:
		if (machine->queued[which] == machine->program->queue_room) {
			block(machine, thread);
			return false;
		}
		machine->queued[which]++;
		wake_one(machine, POP, which);
		break;
	case POP:
		if (!machine->queued[which]) {
			block(machine, thread);
			return false;
		}
		machine->queued[which]--;
		wake_one(machine, PUSH, which);
		break;
	case MEET:
		if (++machine->met[which] < machine->program->nr_threads) {
			block(machine, thread);
			return false;
		}
		machine->met[which] = 0;
		wake_all_that_meet(machine, which);
		break;
	case NAP:
	case PAUSE:
		if (!thread->until_ns) {
			thread->until_ns =
				machine->now_ns +
				(step->kind == NAP ? step->us * US : pause_ns(machine, step->us));
			thread->run = NAPPING;
			return false;
		}
		thread->until_ns = 0;
		break;
	case ENTER:
		machine->entered++;
		break;
	case PROGRESS:
		machine->progress++;
		break;
	case AGAIN:
		thread->at = 0;
		return true;
	}
	thread->at++;
	return true;
}

static void go_on(struct machine *machine, struct thread *thread)
{
	while (do_step(machine, thread))
		;
}

static bool has_cpu(const struct thread *thread)
{
	return thread->run == RUNNING && !thread->is_held;
}

/* Give free CPUs to threads that are ready. */
static void schedule(struct machine *machine)
{
	for (;;) {
		struct thread *first = NULL;
		unsigned int nr_busy = 0;

		for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
			struct thread *thread = &machine->threads[i];

			nr_busy += has_cpu(thread);
			if (thread->run == READY && !thread->is_held &&
			    (!first || thread->turn < first->turn))
				first = thread;
		}
		if (nr_busy >= machine->program->nr_cpus || !first)
			return;
		first->run = RUNNING;
		first->slice_ns = SLICE_NS;
		go_on(machine, first);
	}
}

static uint64_t next_event_ns(const struct machine *machine, uint64_t to_ns)
{
	uint64_t next_ns = to_ns;

	for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
		const struct thread *thread = &machine->threads[i];

		if (thread->is_held)
			next_ns = min_u64(next_ns, thread->hold_until_ns);
		if (has_cpu(thread))
			next_ns = min_u64(next_ns,
					  machine->now_ns + min_u64((uint64_t)thread->left_ns,
								    (uint64_t)thread->slice_ns));
		else if (thread->run == NAPPING)
			next_ns = min_u64(next_ns, thread->until_ns);
	}
	return max_u64(next_ns, machine->now_ns);
}

static void count_hold(struct machine *machine, struct thread *thread)
{
	if (machine->now_ns <= thread->counted_ns)
		return;
	whatif_account_held(&thread->account, machine->now_ns - thread->counted_ns);
	thread->counted_ns = machine->now_ns;
}

static bool is_awake(const struct thread *thread)
{
	return thread->run == RUNNING || thread->run == READY;
}

/* Unless it owes more by now. */
static void let_go(struct machine *machine, struct thread *thread)
{
	uint64_t owed_ns;

	count_hold(machine, thread);
	owed_ns = whatif_account_hold_ns(&thread->account, &machine->accounts);
	if (owed_ns && is_awake(thread)) {
		thread->hold_until_ns = machine->now_ns + owed_ns + LATE_NS;
		return;
	}
	thread->is_held = false;
	if (thread->run == RUNNING) {
		thread->run = READY;
		thread->turn = 0;
	}
}

static void handle_events(struct machine *machine)
{
	for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
		struct thread *thread = &machine->threads[i];

		if (thread->is_held && thread->hold_until_ns <= machine->now_ns)
			let_go(machine, thread);
		if (thread->run == NAPPING && thread->until_ns <= machine->now_ns) {
			wake(machine, thread);
		} else if (has_cpu(thread) && thread->left_ns <= 0) {
			go_on(machine, thread);
		} else if (has_cpu(thread) && thread->slice_ns <= 0) {
			wake(machine, thread); /* it is another one's turn */
		}
	}
}

static void run_to(struct machine *machine, uint64_t to_ns)
{
	while (machine->now_ns < to_ns) {
		uint64_t next_ns, past_ns;

		schedule(machine);
		next_ns = next_event_ns(machine, to_ns);
		past_ns = next_ns - machine->now_ns;
		machine->area_ns += (double)past_ns * (double)nr_inside(machine);
		machine->now_ns = next_ns;
		for (unsigned int i = 0; i < machine->program->nr_threads; i++) {
			struct thread *thread = &machine->threads[i];

			if (has_cpu(thread)) {
				thread->cpu_ns += past_ns;
				thread->left_ns -= (int64_t)past_ns;
				thread->slice_ns -= (int64_t)past_ns;
			} else if (thread->run == BLOCKED || thread->run == NAPPING) {
				thread->slept_ns += past_ns;
			}
		}
		handle_events(machine);
	}
}

static struct machine *machine_new(const struct program *program, int faster, double part)
{
	struct machine *machine = xcalloc(1, sizeof(*machine));

	machine->program = program;
	machine->random = 88172645463325252;
	machine->pauses = 0x9e3779b97f4a7c15;
	machine->faster = faster;
	machine->part = part;
	machine->turns = program->nr_threads + 1;
	for (unsigned int i = 0; i < program->nr_threads; i++)
		machine->threads[i] =
			(struct thread){.steps = program->threads[i], .left_ns = -1, .turn = i + 1};
	return machine;
}

/* --- the experiment, as lib/holding makes it --- */

static void see(struct machine *machine, struct thread *thread, int function)
{
	const struct step *step = &thread->steps[thread->at];
	struct whatif_seen *seen = &thread->account.seen;

	*seen = (struct whatif_seen){.state = thread->run == BLOCKED   ? WHATIF_AWAITS_THREAD
					      : thread->run == NAPPING ? WHATIF_AWAITS_OUTSIDE
								       : WHATIF_RUNS,
				     .slept_ns = thread->slept_ns};
	thread->slept_ns = 0;
	thread->was_napping = thread->run == NAPPING;
	if (thread->is_held)
		count_hold(machine, thread);
	if (!has_cpu(thread))
		return;
	seen->cpu_ns = thread->cpu_ns - thread->sampled_cpu_ns;
	thread->sampled_cpu_ns = thread->cpu_ns;
	seen->stopped_ns = STOP_NS;
	if (step->kind == WORK && step->which == function)
		seen->state = WHATIF_HITS;
}

/* Hold it for what it owes; at a look those that run are stopped anyway. */
static void hold(struct machine *machine, struct thread *thread, uint64_t stop_ns)
{
	uint64_t owed_ns = whatif_account_hold_ns(&thread->account, &machine->accounts);
	uint64_t until_ns = machine->now_ns + stop_ns + (owed_ns ? owed_ns + LATE_NS : 0);

	if (!owed_ns && (!stop_ns || thread->is_held))
		return;
	if (!thread->is_held) {
		thread->counted_ns = machine->now_ns + stop_ns;
		thread->hold_until_ns = 0;
	}
	thread->is_held = true;
	thread->hold_until_ns = max_u64(thread->hold_until_ns, until_ns);
}

static int64_t virtual_clock_ns(const struct machine *machine)
{
	return (int64_t)(machine->now_ns - machine->accounts.global_ns);
}

static void look(struct machine *machine, int function, double part)
{
	struct whatif_account *accounts[THREADS_MAX];
	unsigned int nr = machine->program->nr_threads;

	for (unsigned int i = 0; i < nr; i++) {
		accounts[i] = &machine->threads[i].account;
		see(machine, &machine->threads[i], function);
	}
	whatif_look(&machine->accounts, accounts, nr, part, machine->now_ns);
	whatif_flow_add(&machine->flow, nr_inside(machine), virtual_clock_ns(machine));
	for (unsigned int i = 0; i < nr; i++)
		if (is_awake(&machine->threads[i]))
			hold(machine, &machine->threads[i],
			     has_cpu(&machine->threads[i]) ? STOP_NS : 0);
}

static void hold_debtors(struct machine *machine)
{
	/* Those that a timer has woken. */
	for (unsigned int i = 0; i < machine->program->nr_threads; i++)
		if (machine->threads[i].was_napping && is_awake(&machine->threads[i]) &&
		    !machine->threads[i].is_held)
			hold(machine, &machine->threads[i], 0);
}

static void run_looks(struct machine *machine, int function, double part, uint64_t end_ns)
{
	while (machine->now_ns < end_ns) {
		if (machine->look_ns > machine->now_ns) {
			run_to(machine, min_u64(machine->look_ns, machine->now_ns + POLL_NS));
			hold_debtors(machine);
			continue;
		}
		look(machine, function, part);
		machine->look_ns =
			machine->now_ns + (uint64_t)(LOOK_NS * (0.5 + random_part(machine)));
	}
}

static struct whatif_window run_window_of(struct machine *machine, int function, double part,
					  uint64_t length_ns)
{
	uint64_t begun_ns, progress;
	struct whatif_accounts before;
	struct whatif_flow flows[2];

	for (unsigned int i = 0; i < machine->program->nr_threads; i++)
		whatif_account_settle(&machine->threads[i].account, &machine->accounts);
	run_looks(machine, function, part, machine->now_ns + LEAD_NS);
	begun_ns = machine->now_ns;
	progress = machine->progress;
	before = machine->accounts;
	for (unsigned int i = 0; i < ARRAY_SIZE(flows); i++) {
		whatif_flow_begin(&machine->flow, nr_inside(machine), virtual_clock_ns(machine));
		run_looks(machine, function, part, begun_ns + (i + 1) * length_ns / 2);
		flows[i] = machine->flow;
	}
	return (struct whatif_window){
		.flows = {flows[0], flows[1]},
		.progress = machine->progress - progress,
		.real_ns = machine->now_ns - begun_ns,
		.virtual_ns = machine->now_ns - begun_ns -
			      (machine->accounts.global_ns - before.global_ns),
		.refused_ns = machine->accounts.refused_ns - before.refused_ns,
	};
}

static struct whatif_window run_window(struct machine *machine, int function, double part)
{
	return run_window_of(machine, function, part, WINDOW_NS);
}

static void try_once(struct machine *machine, struct whatif_plan *plan, int function, size_t speed,
		     struct whatif_window *before)
{
	const struct whatif_trial trial = {.function = 0, .speed = speed};
	struct whatif_window window = run_window(machine, function, whatif_speeds[speed]);
	struct whatif_window after = run_window(machine, function, 0);

	whatif_plan_add(plan, &trial, &window, before, &after);
	*before = after;
}

/* --- what it says, and what is true --- */

#define NR_TRIALS   3
#define TRUTH_BEGIN (500 * MS)
#define TRUTH_END   (3500 * MS)

static double true_rate(const struct program *program, int function, double part)
{
	struct machine *machine = machine_new(program, function, part);
	uint64_t progress;

	run_to(machine, TRUTH_BEGIN);
	progress = machine->progress;
	run_to(machine, TRUTH_END);
	progress = machine->progress - progress;
	free(machine);
	return (double)progress;
}

static double true_gain(const struct program *program, int function, double part)
{
	return 100 * (true_rate(program, function, part) / true_rate(program, function, 0) - 1);
}

static void predict(const struct program *program, int function, struct whatif_plan *plan)
{
	struct machine *machine = machine_new(program, 0, 0);
	struct whatif_window before;

	whatif_plan_init(plan, 1, 1);
	run_window(machine, function, 0);
	before = run_window(machine, function, 0);
	for (size_t i = 0; i < NR_TRIALS; i++)
		for (size_t speed = 1; speed <= 3; speed++)
			try_once(machine, plan, function, speed, &before);
	free(machine);
}

/* Within so many points at 25 %, and at 50 %. */
static enum whatif_word check_at(const struct program *program, int function, double points,
				 double points_at_half)
{
	struct whatif_plan plan;
	struct whatif_verdict verdict;

	predict(program, function, &plan);
	for (size_t speed = 1; speed <= 2; speed++) {
		struct whatif_gain gain = whatif_point_gain(&plan.functions[0].points[speed]);
		double truth = true_gain(program, function, whatif_speeds[speed]);

		print_message("function %d, %2.0f%% faster: %+.1f +- %.1f, true %+.1f\n", function,
			      100 * whatif_speeds[speed], gain.percent, gain.half_percent, truth);
		assert_true(gain.is_known);
		assert_true(fabs(gain.percent - truth) <= (speed == 1 ? points : points_at_half));
	}
	verdict = whatif_function_verdict(&plan.functions[0]);
	whatif_plan_release(&plan);
	return verdict.word;
}

static enum whatif_word check(const struct program *program, int function, double points)
{
	return check_at(program, function, points, points);
}

#define END                                                                                        \
	{                                                                                          \
		AGAIN, 0, 0                                                                        \
	}

/* Amdahl's law. */
TEST(whatif, single_thread)
{
	static const struct step steps[] = {{WORK, F, 600}, {WORK, G, 400}, {PROGRESS, 0, 0}, END};
	static const struct program program = {.threads = {steps}, .nr_threads = 1, .nr_cpus = 2};

	assert_int_equal(check(&program, F, 1.5), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, G, 1.5), WHATIF_BOTTLENECK);
}

static const struct step takes_b[] = {{POP, 0, 0}, {WORK, G, 1000}, {PROGRESS, 0, 0}, END};

static struct program pipeline(const struct step *makes, const struct step *takes)
{
	return (struct program){
		.threads = {makes, takes}, .nr_threads = 2, .nr_cpus = 2, .queue_room = 4};
}

/* --- programs that end --- */

#define NR_ITEMS 150
#define NR_RUNS	 8

static void run_to_progress(struct machine *machine, bool is_looked_at, double part)
{
	while (machine->progress < NR_ITEMS) {
		if (is_looked_at)
			run_looks(machine, F, part, machine->now_ns + 20 * US);
		else
			run_to(machine, machine->now_ns + 20 * US);
	}
}

/* The mean of some runs. */
static double predicted_run_ns(const struct program *program, double part)
{
	double sum_ns = 0;

	for (size_t i = 0; i < NR_RUNS; i++) {
		struct machine *machine = machine_new(program, 0, 0);

		machine->random += i * 0x9e3779b97f4a7c15;
		run_to_progress(machine, true, part);
		sum_ns += (double)(machine->now_ns - machine->accounts.global_ns);
		free(machine);
	}
	return sum_ns / NR_RUNS;
}

static uint64_t true_run_ns(const struct program *program, double part)
{
	struct machine *machine = machine_new(program, F, part);
	uint64_t ns;

	run_to_progress(machine, false, 0);
	ns = machine->now_ns;
	free(machine);
	return ns;
}

static void check_runs(const struct program *program, double points)
{
	double base_ns = predicted_run_ns(program, 0);

	for (size_t speed = 1; speed <= 2; speed++) {
		double part = whatif_speeds[speed];
		double gain = 100 * (base_ns / predicted_run_ns(program, part) - 1);
		double truth =
			100 *
			((double)true_run_ns(program, 0) / (double)true_run_ns(program, part) - 1);

		print_message("runs, %2.0f%% faster: %+.1f, true %+.1f\n", 100 * part, gain, truth);
		assert_true(fabs(gain - truth) <= points);
	}
}

TEST(whatif, runs_of_a_program_that_ends)
{
	static const struct step steps[] = {{WORK, F, 600}, {WORK, G, 400}, {PROGRESS, 0, 0}, END};
	static const struct step makes[] = {{WORK, F, 2000}, {PUSH, 0, 0}, END};
	const struct program single = {.threads = {steps}, .nr_threads = 1, .nr_cpus = 2};
	const struct program stages = pipeline(makes, takes_b);

	check_runs(&single, 1.5);
	check_runs(&stages, 5);
}

/* The other stage would become the limit at a third of the time. */
TEST(whatif, pipeline)
{
	static const struct step makes[] = {{WORK, F, 3000}, {PUSH, 0, 0}, END};
	const struct program program = pipeline(makes, takes_b);

	assert_int_equal(check(&program, F, 5), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, G, 2), WHATIF_NO_EFFECT);
}

/* At 50 % both stages are equal: twice as much, and no more beyond. */
TEST(whatif, pipeline_at_its_limit)
{
	static const struct step makes[] = {{WORK, F, 2000}, {PUSH, 0, 0}, END};
	const struct program program = pipeline(makes, takes_b);

	assert_int_equal(check(&program, F, 5), WHATIF_HELPS_UP_TO);
	assert_int_equal(check(&program, G, 2), WHATIF_NO_EFFECT);
}

TEST(whatif, pipeline_nearly_equal)
{
	static const struct step makes[] = {{WORK, F, 1500}, {PUSH, 0, 0}, END};
	static const struct step takes[] = {{POP, 0, 0}, {WORK, G, 1400}, {PROGRESS, 0, 0}, END};
	const struct program program = pipeline(makes, takes);

	assert_int_equal(check(&program, F, 4), WHATIF_HELPS_UP_TO);
	assert_int_equal(check(&program, G, 2), WHATIF_NO_EFFECT);
}

TEST(whatif, pipeline_of_equals)
{
	static const struct step makes[] = {{WORK, F, 1000}, {PUSH, 0, 0}, END};
	const struct program program = pipeline(makes, takes_b);

	assert_int_equal(check(&program, F, 2), WHATIF_NO_EFFECT);
	assert_int_equal(check(&program, G, 2), WHATIF_NO_EFFECT);
}

static const struct step straggles[] = {{WORK, F, 2000}, {MEET, 0, 0}, {PROGRESS, 0, 0}, END};
static const struct step is_early[] = {{WORK, G, 1000}, {MEET, 0, 0}, END};

/* All wait for the slowest. */
TEST(whatif, fork_and_join)
{
	const struct program program = {.threads = {straggles, is_early, is_early, is_early},
					.nr_threads = 4,
					.nr_cpus = 4};

	check(&program, F, 8);
	assert_int_equal(check(&program, G, 2), WHATIF_NO_EFFECT);
}

/*
 * Four threads wait for one lock, in which the function is. Turns are as short as the holds, and
 * without slack: those come too late for some turns, so that the gain is told too low.
 */
TEST(whatif, lock_convoy)
{
	static const struct step steps[] = {{WORK, H, 300}, {LOCK, 0, 0},     {WORK, F, 200},
					    {UNLOCK, 0, 0}, {PROGRESS, 0, 0}, END};
	const struct program program = {.threads = {steps, steps, steps, steps},
					.nr_threads = 4,
					.nr_cpus = 4,
					.jitter = 0.2};

	assert_int_equal(check_at(&program, F, 6, 28), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, H, 5), WHATIF_NO_EFFECT);
}

/* Turns that are far shorter than the time between two looks. */
TEST(whatif, short_turns)
{
	static const struct step makes[] = {{WORK, F, 100}, {PUSH, 0, 0}, {POP, 1, 0}, END};
	static const struct step answers[] = {
		{POP, 0, 0}, {WORK, G, 100}, {PUSH, 1, 0}, {PROGRESS, 0, 0}, END};
	struct program program = pipeline(makes, answers);

	program.jitter = 0.1;
	check(&program, F, 4);
	check(&program, G, 4);
}

/* A timer does not come earlier: what it wakes is no part of what the function does. */
TEST(whatif, timers)
{
	static const struct step works[] = {{WORK, F, 1000}, {NAP, 0, 50}, END};
	static const struct step beats[] = {{NAP, 0, 2000}, {WORK, G, 100}, {PROGRESS, 0, 0}, END};
	struct program program = pipeline(works, beats);

	assert_int_equal(check(&program, F, 3), WHATIF_NO_EFFECT);
	check(&program, G, 2);
}

/* With a CPU for each, and with one for eight. */
TEST(whatif, many_threads)
{
	static const struct step steps[] = {
		{WORK, F, 1000}, {WORK, H, 1000},  {LOCK, 0, 0}, {WORK, G, 20},
		{UNLOCK, 0, 0},	 {PROGRESS, 0, 0}, END};
	struct program program = {.nr_threads = 64, .nr_cpus = 64, .jitter = 0.3};

	for (size_t i = 0; i < 64; i++)
		program.threads[i] = steps;
	check(&program, F, 6);
	program.nr_cpus = 8;
	check(&program, F, 8);
}

/* Two threads: at 50 % what each does outside the lock is as much as what both do in it. */
TEST(whatif, lock_of_two)
{
	static const struct step steps[] = {{WORK, H, 150}, {LOCK, 0, 0},     {WORK, F, 300},
					    {UNLOCK, 0, 0}, {PROGRESS, 0, 0}, END};
	const struct program program = {
		.threads = {steps, steps}, .nr_threads = 2, .nr_cpus = 2, .jitter = 0.02};

	assert_int_equal(check_at(&program, F, 3, 16), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, H, 2), WHATIF_NO_EFFECT);
}

/*
 * One that waits awake seems to run: it is held later than the other one has the lock, and then
 * often has it itself. With turns as short as the time between looks half of the gain is seen.
 */
TEST(whatif, spinning)
{
	static const struct step shorts[] = {{WORK, H, 150}, {SPIN, 0, 0},     {WORK, F, 300},
					     {UNLOCK, 0, 0}, {PROGRESS, 0, 0}, END};
	static const struct step longs[] = {{WORK, H, 1500}, {SPIN, 0, 0},     {WORK, F, 3000},
					    {UNLOCK, 0, 0},  {PROGRESS, 0, 0}, END};
	struct program program = {
		.threads = {shorts, shorts}, .nr_threads = 2, .nr_cpus = 2, .jitter = 0.02};

	assert_int_equal(check_at(&program, F, 10, 55), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, H, 2), WHATIF_NO_EFFECT);
	program.threads[0] = program.threads[1] = longs;
	assert_int_equal(check_at(&program, F, 5, 12), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, H, 2), WHATIF_NO_EFFECT);
}

TEST(whatif, server)
{
	static const struct step requests[] = {{PUSH, 0, 0}, END};
	static const struct step serves[] = {
		{POP, 0, 0},	{WORK, H, 500},	  {LOCK, 0, 0}, {WORK, F, 1000},
		{UNLOCK, 0, 0}, {PROGRESS, 0, 0}, END};
	const struct program program = {.threads = {requests, serves, serves},
					.nr_threads = 3,
					.nr_cpus = 2,
					.queue_room = 4,
					.jitter = 0.02};

	assert_int_equal(check_at(&program, F, 3, 12), WHATIF_BOTTLENECK);
	assert_int_equal(check(&program, H, 2), WHATIF_NO_EFFECT);
}

/* --- the time of requests --- */

#define REQUESTS_NS	(2 * NS_PER_SEC)
#define REQUESTS_LONG	(120 * NS_PER_SEC)
#define REQUESTS_TRIALS 15

/* The mean, when the function really is faster. */
static double true_time_ns(const struct program *program, double part)
{
	struct machine *machine = machine_new(program, F, part);
	double ns;

	run_to(machine, REQUESTS_LONG);
	ns = machine->area_ns / (double)machine->progress;
	free(machine);
	return ns;
}

static void check_time(const struct program *program, double points)
{
	struct machine *machine = machine_new(program, 0, 0);
	struct whatif_window window, before, after;
	struct whatif_plan plan;

	whatif_plan_init(&plan, 1, 1);
	whatif_plan_time_requests(&plan, 0);
	before = run_window_of(machine, F, 0, REQUESTS_NS);
	for (size_t i = 0; i < 2 * REQUESTS_TRIALS; i++) {
		const struct whatif_trial trial = {.function = 0, .speed = 1 + i % 2};

		window = run_window_of(machine, F, whatif_speeds[trial.speed], REQUESTS_NS);
		after = run_window_of(machine, F, 0, REQUESTS_NS);
		whatif_plan_add(&plan, &trial, &window, &before, &after);
		before = after;
	}
	for (size_t speed = 1; speed <= 2; speed++) {
		const struct whatif_point *point = &plan.functions[0].points[speed];
		struct whatif_gain gain = whatif_point_gain(point);
		double truth = 100 * (1 - true_time_ns(program, whatif_speeds[speed]) /
						  true_time_ns(program, 0));

		print_message("time, %2.0f%% faster: -%.1f +- %.1f, true -%.1f, load %.2f, "
			      "%.0f ns, drifting %u\n",
			      100 * whatif_speeds[speed], gain.percent, gain.half_percent, truth,
			      whatif_pair_load(&point->pairs[0]), point->pairs[0].base_time_ns,
			      point->nr_drifting);
		assert_true(gain.is_known);
		assert_true(fabs(gain.percent - truth) <= points);
	}
	whatif_plan_release(&plan);
	free(machine);
}

/*
 * Requests come by a timer, and at random. What it wakes is held late, or not at all if it sleeps
 * again by then: so some requests come while the server is busy that would come when it is idle.
 * With more servers than are needed nothing waits.
 */
TEST(whatif, time_of_requests)
{
	static const struct step makes[] = {
		{PAUSE, 0, 1600}, {WORK, H, 50}, {ENTER, 0, 0}, {PUSH, 0, 0}, END};
	static const struct step serves[] = {
		{POP, 0, 0}, {WORK, F, 600}, {WORK, G, 200}, {PROGRESS, 0, 0}, END};
	struct program program = {.threads = {makes, serves, serves, serves},
				  .nr_threads = 2,
				  .nr_cpus = 4,
				  .queue_room = 10000};

	check_time(&program, 8);
	program.nr_threads = 4;
	check_time(&program, 3);
}
