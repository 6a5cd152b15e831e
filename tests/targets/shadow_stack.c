// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shadow_stack [SEED]: a program that keeps the names of its calls itself. It prints the names it
 * keeps an account of, then goes ways that are random by the seed, and parks now and then: it prints
 * {"tid", "is_root", "calls": [outermost first]} and waits for a line. is_root is false where the
 * calls began on a stack that the program made. Ends with {"end"}.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#include "self_measure.h"

#define CALLS_MAX     64
#define DEPTH_MAX     12
#define STACK_BYTES   (64 << 10)
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define OWN(variable) __thread variable

struct account {
	const char *calls[CALLS_MAX];
	int nr;
	bool is_root;
};

static OWN(struct account own) = {.is_root = true};
static OWN(struct account *account);
static OWN(uint64_t random_state);
static volatile double sink;

static struct account *current(void)
{
	if (!account)
		account = &own;
	return account;
}

/* For a function's body: its name is kept until it returns. */
#define ACCOUNTED __attribute__((cleanup(leave), unused)) int entered = enter(__func__)

static int enter(const char *name)
{
	struct account *to = current();

	to->calls[to->nr] = name;
	return to->nr++;
}

static void leave(int *entered)
{
	current()->nr = *entered;
}

static unsigned next_random(unsigned below)
{
	return (unsigned)(SPIN_STEP(random_state) >> 33) % below;
}

NOINLINE void park(void)
{
	struct account *of = current();
	char line[8];

	printf("{\"tid\": %ld, \"is_root\": %s, \"calls\": [", syscall(SYS_gettid),
	       of->is_root ? "true" : "false");
	for (int i = 0; i < of->nr; i++)
		printf("%s\"%s\"", i ? ", " : "", of->calls[i]);
	printf("]}\n");
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		_exit(0);
}

void go_on(int depth);

NOINLINE void plain(int depth)
{
	ACCOUNTED;

	go_on(depth);
	sink += depth;
}

NOINLINE void aligned(int depth)
{
	ACCOUNTED;
	double numbers[8] __attribute__((aligned(128)));

	numbers[depth % 8] = depth;
	go_on(depth);
	sink += numbers[depth % 8];
}

NOINLINE void sized(int depth)
{
	ACCOUNTED;
	unsigned n = 16 + next_random(4000);
	char *bytes = alloca(n);

	memset(bytes, depth, n);
	go_on(depth);
	sink += bytes[n / 2];
}

NOINLINE void large(int depth)
{
	ACCOUNTED;
	char bytes[40000];

	memset(bytes, depth, sizeof(bytes));
	go_on(depth);
	sink += ((volatile char *)bytes)[next_random(sizeof(bytes))];
}

static OWN(int depth_of_comparison);

int compare(const void *one, const void *other);

int compare(const void *one, const void *other)
{
	ACCOUNTED;

	if (depth_of_comparison >= 0) {
		int depth = depth_of_comparison;

		depth_of_comparison = -1;
		go_on(depth);
	}
	return *(const char *)one - *(const char *)other;
}

NOINLINE void sorting(int depth)
{
	ACCOUNTED;
	char letters[] = "quicksort";

	depth_of_comparison = depth;
	qsort(letters, sizeof(letters) - 1, 1, compare);
	sink += letters[0];
}

NOINLINE void thrown_from(int depth, jmp_buf *back)
{
	ACCOUNTED;

	go_on(depth);
	longjmp(*back, 1);
}

NOINLINE void jumping(int depth)
{
	ACCOUNTED;
	volatile int nr = current()->nr;
	jmp_buf back;

	if (!setjmp(back))
		thrown_from(depth, &back);
	current()->nr = nr;
	go_on(depth + 1);
	sink += depth;
}

static OWN(int depth_of_signal);

void on_signal(int number);

void on_signal(int number)
{
	ACCOUNTED;

	go_on(depth_of_signal);
	sink += number;
}

/*
 * The handler's stack is another, but what it interrupted is known. Not from a coroutine: where a
 * handler has gone over to one, the kernel takes its stack for free.
 */
NOINLINE void signalled(int depth)
{
	ACCOUNTED;

	depth_of_signal = depth + 1;
	if (current()->is_root)
		pthread_kill(pthread_self(), SIGUSR1);
	else
		go_on(depth + 1);
	sink += depth;
}

struct thread {
	int depth;
	uint64_t random_state;
};

void *thread_main(void *argument);

void *thread_main(void *argument)
{
	ACCOUNTED;
	struct thread *thread = argument;

	random_state = thread->random_state;
	go_on(thread->depth);
	sink += 1;
	return NULL;
}

NOINLINE void with_thread(int depth)
{
	ACCOUNTED;
	struct thread thread = {depth, next_random(1u << 31)};
	pthread_t id;

	if (!pthread_create(&id, NULL, thread_main, &thread))
		pthread_join(id, NULL);
	sink += depth;
}

#if defined(__GLIBC__)
static OWN(ucontext_t back);
static OWN(int depth_of_coroutine);

void coroutine_main(void);

void coroutine_main(void)
{
	{
		ACCOUNTED;

		go_on(depth_of_coroutine);
		sink += 1;
	}
	setcontext(&back);
}

NOINLINE void with_coroutine(int depth)
{
	ACCOUNTED;
	struct account *outside = current(), inside = {.is_root = false};
	ucontext_t before = back, context;
	void *stack = malloc(STACK_BYTES * 4);

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = STACK_BYTES * 4;
	makecontext(&context, coroutine_main, 0);
	depth_of_coroutine = depth + 2;
	account = &inside;
	swapcontext(&back, &context);
	account = outside;
	back = before;
	free(stack);
	sink += depth;
}
#endif

NOINLINE void recursing(int depth)
{
	ACCOUNTED;

	if (next_random(3))
		recursing(depth + 1 > CALLS_MAX / 4 ? DEPTH_MAX : depth + 1);
	else
		go_on(depth);
	sink += depth;
}

static void (*const ways[])(int depth) = {
	plain,	   aligned,	sized,	   large,     sorting,
	jumping,   signalled,	with_thread, recursing,
#if defined(__GLIBC__)
	with_coroutine,
#endif
};

void go_on(int depth)
{
	if (depth >= DEPTH_MAX || current()->nr > CALLS_MAX - 4) {
		park();
		return;
	}
	ways[next_random(COUNT(ways))](depth + 1);
	sink += depth;
}

__attribute__((constructor)) void before_main(void)
{
	ACCOUNTED;

	printf("{\"names\": [\"plain\", \"aligned\", \"sized\", \"large\", \"sorting\", \"compare\","
	       " \"jumping\", \"thrown_from\", \"signalled\", \"on_signal\", \"with_thread\","
	       " \"thread_main\", \"recursing\", \"with_coroutine\", \"coroutine_main\","
	       " \"before_main\", \"at_exit\", \"main\"]}\n");
	park();
	sink += 1;
}

void at_exit(void);

void at_exit(void)
{
	current()->nr = 0;
	ACCOUNTED;

	park();
	printf("{\"end\": true}\n");
}

int main(int argc, char **argv)
{
	ACCOUNTED;
	static uint64_t stack[STACK_BYTES / 2];
	stack_t handlers = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};

	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	sigaltstack(&handlers, NULL);
	sigaction(SIGUSR1, &action, NULL);
	atexit(at_exit);
	for (int i = 0; i < 12; i++)
		go_on(0);
	return 0;
}
