// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_stack [MS]: a thread whose stack is mapped from a file that its parent serves by FUSE, with
 * a new thread for each read, which takes a millisecond. After MS milliseconds prints {"calls"},
 * how often the stack was gone through, and {"reads"}, how many were served. Status 77 where it may
 * not mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define STACK_BYTES (512u << 10)
#define PAGE_BYTES  4096u
#define DEPTH	    60
#define FILE_NODE   2

static int server;
static atomic_uint nr_reads;

static void reply(uint64_t unique, int error, const void *bytes, size_t nr_bytes)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + nr_bytes), .error = error, .unique = unique};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)bytes, nr_bytes}};

	if (writev(server, parts, 2) < 0)
		return; /* whoever asked has gone */
}

struct read_request {
	uint64_t unique;
	uint32_t size;
};

static void *read_main(void *arg)
{
	struct read_request *request = arg;

	usleep(1000);
	reply(request->unique, 0, calloc(1, request->size), request->size);
	nr_reads++;
	return NULL;
}

static void serve_read(uint64_t unique, const struct fuse_read_in *in)
{
	struct read_request *request = malloc(sizeof(*request));
	pthread_t thread;

	*request = (struct read_request){unique, in->size};
	pthread_create(&thread, NULL, read_main, request);
	pthread_detach(thread);
}

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == FILE_NODE ? STACK_BYTES : 0,
				  .mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
				  .nlink = 1};
}

static void serve(const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes_of(FILE_NODE)};
	struct fuse_attr_out attributes = {.attr = attributes_of(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		reply(in->unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attributes, sizeof(attributes));
		return;
	case FUSE_OPEN:
		reply(in->unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		serve_read(in->unique, body);
		return;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static void *server_main(void *unused)
{
	static _Alignas(8) char request[1 << 16];

	while (read(server, request, sizeof(request)) > 0)
		serve((void *)request, request + sizeof(struct fuse_in_header));
	return unused;
}

static NOINLINE unsigned touch_stack(unsigned depth)
{
	volatile char frame[PAGE_BYTES];

	frame[0] = (char)depth;
	return depth ? touch_stack(depth - 1) + (unsigned)frame[0] : 0;
}

static atomic_uint nr_calls;
static int file;

static void *toucher_main(void *stack)
{
	for (;;) {
		touch_stack(DEPTH);
		nr_calls++;
		madvise(stack, STACK_BYTES - 16 * PAGE_BYTES, MADV_DONTNEED);
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	}
	return NULL;
}

static int mount_at(const char *directory)
{
	char options[80];

	/* Nobody else sees the mount, and it is gone with us. */
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d", server,
		 (int)getuid(), (int)getgid());
	return server < 0 ? -1 : mount("fuse_stack", directory, "fuse", 0, options);
}

static void run_client(const char *directory, uint64_t end_ns)
{
	char path[64];
	pthread_attr_t attributes;
	pthread_t thread;
	void *stack;

	close(server);
	snprintf(path, sizeof(path), "%s/stack", directory);
	file = open(path, O_RDWR);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (stack == MAP_FAILED)
		_exit(1);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	pthread_create(&thread, &attributes, toucher_main, stack);
	while (monotonic_ns() < end_ns)
		usleep(1000);
	printf("{\"calls\": %u}\n", nr_calls);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	char directory[] = "/tmp/fuse_stack.XXXXXX";
	pthread_t thread;
	int status = 1;
	pid_t client;

	if (!mkdtemp(directory) || mount_at(directory)) {
		perror("fuse_stack");
		rmdir(directory);
		return 77;
	}
	client = fork();
	if (client == 0)
		run_client(directory, end_ns);
	pthread_create(&thread, NULL, server_main, NULL);
	waitpid(client, &status, 0);
	printf("{\"reads\": %u}\n", nr_reads);
	fflush(stdout);
	umount2(directory, MNT_DETACH);
	rmdir(directory);
	_exit(status != 0);
}
