// SPDX-License-Identifier: GPL-2.0-or-later
#include "desktop/objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/search_path.h"

/* Far above the largest function: a bound on objdump's output. */
#define OUTPUT_MAX_BYTES (64u << 20)
/* The largest files, of gigabytes, take half of this. A crafted file takes for ever. */
#define RUN_MAX_NS (60 * NS_PER_SEC)

/* The user and group that own nothing. */
#define NOBODY 65534

/* The child's descriptor for the file. */
#define FILE_FD 3

static bool is_restricted(const struct objdump_request *request)
{
	return geteuid() == 0 && !owner_is_trusted(request->owner);
}

static uid_t user_of(struct owner owner)
{
	return owner.v == OWNER_NOBODY.v || owner.v == OWNER_NOT_RECORDED.v ? NOBODY : owner.v - 1;
}

/*
 * From now on the file's owner may trace it, so it has nothing of root's. In a session of its own
 * it has no terminal to push input into. Uses system calls, as libc's functions would look for
 * other threads.
 */
static bool drop_rights(uid_t user)
{
	const gid_t group = NOBODY;

	return setsid() >= 0 && chdir("/") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_setgroups, 0, NULL) == 0 &&
	       syscall(SYS_setresgid, group, group, group) == 0 &&
	       syscall(SYS_setresuid, user, user, user) == 0 &&
	       prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

/* In the child; execve(2) closes all its other descriptors. */
static bool arrange_descriptors(int output_fd, int file_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Above all descriptors that are filled. */
	int output = fcntl(output_fd, F_DUPFD_CLOEXEC, FILE_FD + 1);
	int file = fcntl(file_fd, F_DUPFD_CLOEXEC, FILE_FD + 1);

	return null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
	       dup2(output, STDOUT_FILENO) >= 0 && dup2(null_fd, STDERR_FILENO) >= 0 &&
	       dup2(file, FILE_FD) >= 0;
}

static void close_others(void)
{
#ifdef __NR_close_range
	syscall(__NR_close_range, FILE_FD + 1, ~0U, 0);
#endif
}

static _Noreturn void become(const struct objdump_request *request, const char *program,
			     char **words, int output_fd)
{
	static char *const nothing[] = {NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (arrange_descriptors(output_fd, request->fd)) {
		close_others();
		if (!is_restricted(request))
			execv(program, words);
		else if (drop_rights(user_of(request->owner)))
			execve(program, words, nothing);
	}
	_exit(127);
}

static void read_output(int fd, struct buf *output)
{
	const size_t end = output->nr_bytes + OUTPUT_MAX_BYTES;
	uint64_t deadline_ns = clock_monotonic_ns() + RUN_MAX_NS, now_ns;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint8_t bytes[8192];

	while (output->nr_bytes < end && (now_ns = clock_monotonic_ns()) < deadline_ns) {
		int nr_ready = poll(&ready, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1);
		ssize_t nr = nr_ready > 0 ? read(fd, bytes, sizeof(bytes)) : -1;

		if (nr > 0)
			buf_append(output, bytes, (size_t)nr);
		else if (nr == 0 || (nr_ready < 0 && errno != EINTR))
			return;
	}
}

static void run(const struct objdump_request *request, const char *program, char **words,
		struct buf *output)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		become(request, program, words, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		read_output(ends[0], output);
		kill(pid, SIGKILL); /* closing its output normally means that it has ended */
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	close(ends[0]);
}

void objdump_run(const struct objdump_request *request, struct buf *output)
{
	cleanup_free char *start = xasprintf("--start-address=0x%" PRIx64, request->start);
	cleanup_free char *end = xasprintf("--stop-address=0x%" PRIx64, request->end);
	cleanup_free char *file = xasprintf("/proc/self/fd/%d", FILE_FD);
	char name[] = "objdump", code[] = "--disassemble", no_bytes[] = "--no-show-raw-insn";
	char *words[] = {name, code, no_bytes, start, end, file, NULL};
	struct buf program = {0};

	/* Never from the current directory. */
	if (search_path_find(request->directories, name, &program) && *buf_str(&program) == '/')
		run(request, buf_str(&program), words, output);
	buf_release(&program);
}
