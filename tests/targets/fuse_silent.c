// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_silent MODE [MS [LOOKUPS]]: a child that calls count_on() and allocates, with a file mapped
 * or open that its parent serves by FUSE: no read of it gets an answer in MS milliseconds. Where:
 *
 *	code	mapped as code, at an address of its own
 *	overlay	likewise, but the file of an overlay that lies above the file system
 *	beside	mapped behind the stack of a thread
 *	named	open, in such an overlay whose path in the child's root is that of probes' memory
 *	tmp	such an overlay is the child's /tmp, with any name in it; the child runs code of its
 *		own making. Here all but look-ups have answers, always
 *
 * Nothing touches it, so the child goes on. Says "ready" when it runs. From then on so many names are
 * looked up, each anew as nothing is kept, before all requests go without an answer. Status 77 where
 * it may not mount.
 */
#include <sys/syscall.h>

#include "fuse_server.h"
#include "own_stack.h"

#define FILE_BYTES  (1u << 20)
#define STACK_BYTES (256u << 10)
#define NAMED	    "/memfd:profc-probes-1-1-1"

/* Loops for edi rounds, or returns at once. */
#if defined(__x86_64__)
static const unsigned char made_code[] = "\x89\xf9\xff\xc9\x75\xfc\xc3";
#else
static const unsigned char made_code[] = "\xc0\x03\x5f\xd6";
#endif

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

static void run_made_code(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, made_code, sizeof(made_code));
	for (;;)
		((void (*)(unsigned int))(uintptr_t)code)(200000);
}

/* In `overlay`, which is a tmpfs, with a directory beside. */
static int mount_overlay(void)
{
	char options[120], other[sizeof(overlay) + 8], at[sizeof(overlay) + sizeof(NAMED)];

	if (!mkdtemp(overlay))
		return -1;
	snprintf(other, sizeof(other), "%s/other", overlay);
	snprintf(at, sizeof(at), "%s" NAMED, overlay);
	snprintf(options, sizeof(options), "lowerdir=%s:%s", fuse_server.directory, other);
	return mount("none", overlay, "tmpfs", 0, NULL) || mkdir(other, 0700) || mkdir(at, 0700) ||
	       mount("overlay", at, "overlay", MS_RDONLY, options);
}

static int open_above(const char *root)
{
	char path[80];

	snprintf(path, sizeof(path), "%s" NAMED "/" FUSE_FILE, root);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int enter_overlay(void)
{
	return unshare(CLONE_NEWNS) || chdir(overlay) ||
	       syscall(SYS_pivot_root, ".", "other") || chdir("/") || open_above("") < 0;
}

static int mount_as_tmp(void)
{
	char from[sizeof(overlay) + sizeof(NAMED)];

	snprintf(from, sizeof(from), "%s" NAMED, overlay);
	return unshare(CLONE_NEWNS) || mount(from, "/tmp", NULL, MS_BIND, NULL);
}

static void *map(void *at, int file, int protection)
{
	void *mapped =
		mmap(at, FILE_BYTES, protection, MAP_PRIVATE | (at ? MAP_FIXED : 0), file, 0);

	if (mapped == MAP_FAILED)
		_exit(1);
	return mapped;
}

static void begin(const char *mode)
{
	if (strcmp(mode, "beside") == 0) {
		char *stack = mmap(NULL, STACK_BYTES + FILE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		map(stack + STACK_BYTES, fuse_open_file(), PROT_READ | PROT_WRITE);
		start_on_stack(stack, STACK_BYTES, count_main, NULL);
	} else if (strcmp(mode, "code") == 0) {
		map(NULL, fuse_open_file(), PROT_READ | PROT_EXEC);
	} else if (strcmp(mode, "overlay") == 0) {
		map(NULL, open_above(overlay), PROT_READ | PROT_EXEC);
	} else if (strcmp(mode, "named") == 0 ? enter_overlay() : mount_as_tmp()) {
		perror(mode);
		_exit(1);
	}
}

static void run_client(const char *mode, int lookups)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "client");
	close(fuse_server.device);
	begin(mode);
	*fuse_server.lookups_left = lookups;
	say_ready();
	if (strcmp(mode, "tmp") == 0)
		run_made_code();
	count_main(NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "code";
	uint64_t ms = number_argument(argc, argv, 2, 4000);
	uint64_t end_ns = monotonic_ns() + ms * MS;
	int lookups = argc > 3 ? atoi(argv[3]) : -1;
	bool has_overlay = strcmp(mode, "code") != 0 && strcmp(mode, "beside") != 0;
	size_t nr_bytes = FILE_BYTES;
	pid_t client;

	fuse_server.read_ms = (unsigned)ms;
	if (strcmp(mode, "tmp") == 0) {
		fuse_server.read_ms = 1;
		fuse_server.finds_no_more = true;
		nr_bytes = 100;
	}
	if (fuse_server_start(calloc(1, nr_bytes), nr_bytes, end_ns))
		return CANNOT;
	if (has_overlay && mount_overlay()) {
		perror("overlay");
		fuse_server_end();
		return CANNOT;
	}
	client = fork();
	if (client == 0)
		run_client(mode, lookups);
	while (monotonic_ns() < end_ns)
		usleep(10000);
	kill(client, SIGKILL);
	waitpid(client, NULL, 0);
	if (has_overlay) {
		umount2(overlay, MNT_DETACH);
		rmdir(overlay);
	}
	fuse_server_end();
	_exit(0);
}
