/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_FUSE_SERVER_H
#define PROFC_TESTS_FUSE_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

/*
 * A file system of one file, FUSE_FILE, that this process serves by FUSE: each read in a new
 * thread, which takes its time. Nothing is known of it for longer than it was asked for.
 */

#define FUSE_FILE  "file"
#define FUSE_NODE  2
#define CANNOT	   77
#define RESCUE_SEC 10

struct fuse_server {
	char directory[32];
	int device;
	const char *bytes; /* of the file */
	size_t nr_bytes;
	atomic_uint nr_reads;
	unsigned read_ms;    /* that a read takes */
	bool waits_for_stdin; /* a read takes until standard input is closed */
	/* Shared with children; from when it is not negative, so many names are still looked up, and
	 * then nothing has an answer, or only no name. */
	atomic_int *lookups_left;
	bool finds_no_more;
	pid_t rescuer;
};

static struct fuse_server fuse_server = {.directory = "/tmp/fuse_server.XXXXXX", .read_ms = 1};

static inline void fuse_reply(uint64_t unique, int error, const void *bytes, size_t nr_bytes)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + nr_bytes), .error = error, .unique = unique};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)bytes, nr_bytes}};

	if (writev(fuse_server.device, parts, 2) < 0)
		return; /* whoever asked has gone */
}

struct fuse_read {
	uint64_t unique, offset;
	uint32_t size;
};

static inline void *fuse_read_main(void *arg)
{
	struct fuse_read read = *(struct fuse_read *)arg;
	size_t left = read.offset < fuse_server.nr_bytes ? fuse_server.nr_bytes - read.offset : 0;

	free(arg);
	while (fuse_server.waits_for_stdin && getchar() != EOF)
		continue;
	usleep(fuse_server.read_ms * 1000);
	fuse_reply(read.unique, 0, fuse_server.bytes + read.offset,
		   left < read.size ? left : read.size);
	fuse_server.nr_reads++;
	return NULL;
}

static inline void fuse_serve_read(uint64_t unique, const struct fuse_read_in *in)
{
	struct fuse_read *request = malloc(sizeof(*request));
	pthread_t thread;

	*request = (struct fuse_read){unique, in->offset, in->size};
	pthread_create(&thread, NULL, fuse_read_main, request);
	pthread_detach(thread);
}

static inline struct fuse_attr fuse_attributes_of(uint64_t node)
{
	bool is_file = node == FUSE_NODE;

	return (struct fuse_attr){.ino = node,
				  .size = is_file ? fuse_server.nr_bytes : 0,
				  .mode = is_file ? S_IFREG | 0700 : S_IFDIR | 0700,
				  .nlink = 1,
				  .mtime = (uint64_t)time(NULL)};
}

static inline void fuse_serve(const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = FUSE_NODE, .attr = fuse_attributes_of(FUSE_NODE)};
	struct fuse_attr_out attributes = {.attr = fuse_attributes_of(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};
	struct fuse_statfs_out room = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_reply(in->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		fuse_reply(in->unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		fuse_reply(in->unique, 0, &attributes, sizeof(attributes));
		return;
	case FUSE_OPEN:
		fuse_reply(in->unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_STATFS:
		fuse_reply(in->unique, 0, &room, sizeof(room));
		return;
	case FUSE_READ:
		fuse_serve_read(in->unique, body);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		fuse_reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static inline bool fuse_is_silent(const struct fuse_in_header *in)
{
	int left = *fuse_server.lookups_left;

	if (left > 0 && in->opcode == FUSE_LOOKUP)
		(*fuse_server.lookups_left)--;
	return left == 0 && (in->opcode == FUSE_LOOKUP || !fuse_server.finds_no_more);
}

static inline void *fuse_server_main(void *unused)
{
	static _Alignas(8) char request[1 << 16];

	while (read(fuse_server.device, request, sizeof(request)) > 0) {
		if (!fuse_is_silent((void *)request))
			fuse_serve((void *)request, request + sizeof(struct fuse_in_header));
	}
	return unused;
}

/* The number of the connection is that of its device. */
static inline unsigned fuse_connection(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	unsigned found = 0;
	char line[512];

	while (mounts && fgets(line, sizeof(line), mounts)) {
		if (strstr(line, fuse_server.directory))
			sscanf(line, "%*d %*d %*d:%u", &found);
	}
	if (mounts)
		fclose(mounts);
	return found;
}

static inline void fuse_tidy_up(int signal)
{
	(void)signal;
	umount2(fuse_server.directory, MNT_DETACH);
	_exit(rmdir(fuse_server.directory) != 0);
}

/* Whoever waits for an answer in vain cannot be killed: should all stand still, they get none. */
static inline void fuse_rescue(uint64_t end_ns)
{
	char path[80];
	int fd;

	/* When the server ends, by a signal, too: another connection may get the number. */
	signal(SIGTERM, fuse_tidy_up);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(path, sizeof(path), "%s/%u/abort", fuse_server.directory, fuse_connection());
	close(fuse_server.device);
	while (monotonic_ns() < end_ns + RESCUE_SEC * 1000 * MS)
		sleep(1);
	if (mount("none", fuse_server.directory, "fusectl", 0, NULL))
		_exit(1);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	_exit(fd < 0 || write(fd, "1", 1) != 1);
}

/* Users may not open it everywhere: a test may have made another node for them. */
static inline int fuse_open_device(void)
{
	const char *node = getenv("FUSE_DEVICE");

	return open(node ? node : "/dev/fuse", O_RDWR | O_CLOEXEC);
}

/* Mounts, forks who comes to the rescue after end_ns, and serves in a thread. */
static inline int fuse_server_start(const void *bytes, size_t nr_bytes, uint64_t end_ns)
{
	struct fuse_server *server = &fuse_server;
	char options[80];
	pthread_t thread;

	server->bytes = bytes;
	server->nr_bytes = nr_bytes;
	server->lookups_left = mmap(NULL, sizeof(*server->lookups_left), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*server->lookups_left = -1;
	if (!mkdtemp(server->directory))
		return -1;
	/* Nobody else sees the mount, and it is gone with us. */
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		goto failed;
	server->device = fuse_open_device();
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d",
		 server->device, (int)getuid(), (int)getgid());
	if (server->device < 0 || mount("fuse_server", server->directory, "fuse", 0, options))
		goto failed;
	server->rescuer = fork();
	if (server->rescuer == 0)
		fuse_rescue(end_ns);
	pthread_create(&thread, NULL, fuse_server_main, NULL);
	return 0;
failed:
	perror("fuse_server");
	rmdir(server->directory);
	return -1;
}

static inline void fuse_server_end(void)
{
	kill(fuse_server.rescuer, SIGKILL);
	waitpid(fuse_server.rescuer, NULL, 0);
	printf("{\"reads\": %u}\n", fuse_server.nr_reads);
	fflush(stdout);
	umount2(fuse_server.directory, MNT_DETACH);
	rmdir(fuse_server.directory);
}

static inline int fuse_open_file(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" FUSE_FILE, fuse_server.directory);
	return open(path, O_RDONLY | O_CLOEXEC);
}

#endif
