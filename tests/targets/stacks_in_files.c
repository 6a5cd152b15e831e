// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stacks_in_files DIRECTORY [MS]: threads whose stacks are memory that shows a file: shared memory
 * without a name, a memfd, and files of the directory and of /dev/shm. Each works for MS
 * milliseconds of CPU time, in a function of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "own_stack.h"
#include "self_measure.h"

#define STACK_BYTES (256u << 10)

static uint64_t limit_ns;

static NOINLINE uint64_t work(unsigned depth)
{
	uint64_t x = depth;

	if (depth)
		return work(depth - 1) + 1;
	while (thread_cpu_ns() < limit_ns)
		SPIN_STEP(x);
	return x;
}

#define THREAD(name)                                                                               \
	static NOINLINE void *name(void *unused)                                                   \
	{                                                                                          \
		volatile uint64_t x = work(20);                                                    \
                                                                                                   \
		(void)x;                                                                           \
		return unused;                                                                     \
	}

THREAD(on_shared_memory)
THREAD(on_memfd)
THREAD(on_disk)
THREAD(on_shm)

static int file_in(const char *directory)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/stack.XXXXXX", directory);
	fd = mkstemp(path);
	unlink(path);
	return fd;
}

static pthread_t start(void *(*thread_main)(void *), int fd, int flags)
{
	void *stack;

	if (fd >= 0 && ftruncate(fd, STACK_BYTES))
		exit(1);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (stack == MAP_FAILED)
		exit(1);
	return start_on_stack(stack, STACK_BYTES, thread_main, NULL);
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	limit_ns = number_argument(argc, argv, 2, 200) * MS;
	threads[0] = start(on_shared_memory, -1, MAP_SHARED | MAP_ANONYMOUS);
	threads[1] = start(on_memfd, memfd_create("stack", MFD_CLOEXEC), MAP_SHARED);
	threads[2] = start(on_disk, file_in(argc > 1 ? argv[1] : "."), MAP_PRIVATE);
	threads[3] = start(on_shm, file_in("/dev/shm"), MAP_SHARED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
