// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_silent MODE [MS]: a child that calls count_on() and allocates, with a file mapped that its
 * parent serves by FUSE: no read of it gets an answer in MS milliseconds. Where it is mapped:
 *
 *	code	as code, at an address of its own
 *	overlay	likewise, but the file of an overlay that lies above the file system
 *	beside	behind the stack of a thread
 *
 * Nothing touches it, so the child goes on. Says "ready" when it runs. Status 77 where it may not
 * mount.
 */
#include "fuse_server.h"
#include "own_stack.h"

#define FILE_BYTES  (1u << 20)
#define STACK_BYTES (256u << 10)

static volatile uint64_t nr_calls;
static char overlay[] = "/tmp/fuse_overlay.XXXXXX";

NOINLINE static void count_on(void)
{
	nr_calls++;
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static void *count_main(void *unused)
{
	for (;;) {
		volatile char *block = malloc(100);

		block[0] = 1;
		free((void *)(uintptr_t)block);
		for (int i = 0; i < 1000; i++)
			count_on();
	}
	return unused;
}

static int mount_overlay(void)
{
	char options[120], other[sizeof(overlay) + 8];

	if (!mkdtemp(overlay))
		return -1;
	snprintf(other, sizeof(other), "%s/other", overlay);
	snprintf(options, sizeof(options), "lowerdir=%s:%s", fuse_server.directory, other);
	return mount("none", overlay, "tmpfs", 0, NULL) || mkdir(other, 0700) ||
	       mount("overlay", overlay, "overlay", MS_RDONLY, options);
}

static int open_above(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" FUSE_FILE, overlay);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void *map(void *at, int file, int protection)
{
	void *mapped =
		mmap(at, FILE_BYTES, protection, MAP_PRIVATE | (at ? MAP_FIXED : 0), file, 0);

	if (mapped == MAP_FAILED)
		_exit(1);
	return mapped;
}

static void run_client(const char *mode)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "client");
	close(fuse_server.device);
	if (strcmp(mode, "beside") == 0) {
		char *stack = mmap(NULL, STACK_BYTES + FILE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		map(stack + STACK_BYTES, fuse_open_file(), PROT_READ | PROT_WRITE);
		start_on_stack(stack, STACK_BYTES, count_main, NULL);
	} else {
		map(NULL, strcmp(mode, "code") == 0 ? fuse_open_file() : open_above(),
		    PROT_READ | PROT_EXEC);
	}
	say_ready();
	count_main(NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "code";
	uint64_t ms = number_argument(argc, argv, 2, 4000);
	uint64_t end_ns = monotonic_ns() + ms * MS;
	bool has_overlay = strcmp(mode, "overlay") == 0;
	pid_t client;

	fuse_server.read_ms = (unsigned)ms;
	if (fuse_server_start(calloc(1, FILE_BYTES), FILE_BYTES, end_ns))
		return CANNOT;
	if (has_overlay && mount_overlay()) {
		perror("overlay");
		fuse_server_end();
		return CANNOT;
	}
	client = fork();
	if (client == 0)
		run_client(mode);
	while (monotonic_ns() < end_ns)
		usleep(10000);
	kill(client, SIGKILL);
	waitpid(client, NULL, 0);
	if (has_overlay) {
		umount2(overlay, MNT_DETACH);
		umount2(overlay, MNT_DETACH);
		rmdir(overlay);
	}
	fuse_server_end();
	_exit(0);
}
