// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls leaf() inside of serve() and elsewhere, and tells how often, and how much CPU time was
 * spent in each. The first argument chooses by which ways serve() is entered and left; the second
 * how many threads do that, the third how often each. With "forks" a child does the same beside
 * it, and its numbers are among those told.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

struct account {
	uint64_t calls[2]; /* of leaf(): outside, inside */
	uint64_t cpu_ns[2];
};

static thread_local account mine;

extern "C" {
APART void leaf(bool is_inside)
{
	mine.calls[is_inside]++;
}

APART void works(bool is_inside, uint64_t ns)
{
	struct timespec now;
	uint64_t start = 0, at = 0;

	while (!start || at - start < ns) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		start = start ? start : at;
	}
	mine.cpu_ns[is_inside] += at - start;
}

/* Several ways out, and more than one way down. */
APART long serve(int depth, long kind)
{
	leaf(true);
	if (kind % 3 == 0)
		return kind;
	if (depth > 0) {
		kind += serve(depth - 1, kind + 1);
		leaf(true);
		return kind * 3;
	}
	if (kind % 3 == 1)
		leaf(true);
	return kind + depth;
}

APART void elsewhere(long kind)
{
	leaf(false);
	if (kind % 2)
		leaf(false);
}

/* It is left by the jump that a compiler makes of its last call. */
APART long taken_over(long kind)
{
	leaf(false);
	return kind + 1;
}

APART long hands_over(long kind)
{
	leaf(true);
	return taken_over(kind + 1);
}

APART void throws(long kind)
{
	leaf(true);
	if (kind % 2)
		throw kind;
}

/* A way out for exceptions only. */
APART void passes(long kind)
{
	leaf(true);
	throws(kind);
	leaf(true);
	__asm__ volatile(""); /* no tail call */
}

APART void serves_slowly(uint64_t ns)
{
	works(true, ns);
	leaf(true);
	__asm__ volatile("");
}
}

static long (*volatile successor)(long) = taken_over;

/* A switch that is a table of jumps, and a jump through a pointer that is a way out. */
extern "C" APART long chooses(long kind)
{
	switch (kind & 7) {
	case 0:
		return kind;
	case 1:
		leaf(true);
		return kind * 3;
	case 2:
		kind += 5;
		leaf(true);
		break;
	case 3:
		leaf(true);
		return successor(kind);
	case 4:
		leaf(true);
		leaf(true);
		return kind ^ 21;
	case 5:
		return successor(kind - 1);
	case 6:
		kind /= 3;
		break;
	default:
		leaf(true);
		kind = ~kind;
	}
	leaf(true);
	return kind - 1;
}

static void by_table(long i)
{
	chooses(i);
	elsewhere(i);
}

static void by_itself(long i)
{
	serve((int)(i % 5), i);
	elsewhere(i);
}

static long (*volatile handlers[2])(int, long);

extern "C" APART long other_handler(int depth, long kind)
{
	for (int i = 0; i <= depth; i++)
		leaf(false);
	return kind;
}

static void by_pointers(long i)
{
	handlers[i & 1]((int)(i % 3), i);
}

static void by_tail_call(long i)
{
	hands_over(i);
	elsewhere(i);
}

static void by_exceptions(long i)
{
	try {
		passes(i);
	} catch (long) {
		leaf(false);
	}
	elsewhere(i);
}

static void in_time(long)
{
	serves_slowly(1500000);
	works(false, 3500000);
	leaf(false);
}

static const struct {
	const char *name;
	void (*round)(long);
} ways[] = {
	{"itself", by_itself},	       {"pointers", by_pointers}, {"tail", by_tail_call},
	{"exceptions", by_exceptions}, {"time", in_time},	  {"forks", by_itself},
	{"table", by_table},
};

static void (*round_of)(long);
static long nr_rounds;

static void *run(void *out)
{
	for (long i = 0; i < nr_rounds; i++)
		round_of(i);
	*static_cast<account *>(out) = mine;
	return nullptr;
}

#define MOST_THREADS 64

/* Both processes have the same addresses, and threads at the same ones. */
static void run_threads(account *accounts, int nr_threads)
{
	pthread_t threads[MOST_THREADS];

	for (int i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], nullptr, run, &accounts[i]);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], nullptr);
}

int main(int argc, char **argv)
{
	int nr_threads = argc > 2 ? atoi(argv[2]) : 1;
	account *accounts = static_cast<account *>(mmap(nullptr, 2 * MOST_THREADS * sizeof(account),
							PROT_READ | PROT_WRITE,
							MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	account all = {};
	pid_t child = -1;

	nr_rounds = argc > 3 ? atol(argv[3]) : 1000;
	handlers[0] = serve;
	handlers[1] = other_handler;
	for (const auto &way : ways) {
		if (argc > 1 && strcmp(way.name, argv[1]) == 0)
			round_of = way.round;
	}
	if (!round_of || nr_threads < 1 || nr_threads > MOST_THREADS)
		return 2;
	/* For those that attach. */
	if (argc > 4) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	if (strcmp(argv[1], "forks") == 0)
		child = fork();
	run_threads(accounts + (child == 0 ? MOST_THREADS : 0), nr_threads);
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, nullptr, 0);
	for (int i = 0; i < 2 * MOST_THREADS; i++) {
		for (int k = 0; k < 2; k++) {
			all.calls[k] += accounts[i].calls[k];
			all.cpu_ns[k] += accounts[i].cpu_ns[k];
		}
	}
	printf("{\"inside_calls\": %llu, \"outside_calls\": %llu, \"inside_cpu_ns\": %llu, "
	       "\"outside_cpu_ns\": %llu}\n",
	       (unsigned long long)all.calls[1], (unsigned long long)all.calls[0],
	       (unsigned long long)all.cpu_ns[1], (unsigned long long)all.cpu_ns[0]);
	return 0;
}
