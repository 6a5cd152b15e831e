// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * seccomp_answers [MS]: two filters whose answer is somebody else's. One thread's getppid() is
 * left to a tracer that handles it, of which there is none: ENOSYS. That of another is answered
 * by a supervisor, the main thread, some milliseconds later: 4242. Prints {"name", "calls",
 * "wrong"} of each, or {"absent": why not}.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define ANSWER 4242

struct caller {
	const char *name;
	unsigned int action, flags;
	long wanted;
	uint64_t end_ns;
	int filter; /* seccomp(2)'s result: a listener, or 0 */
	unsigned long calls, wrong;
};

static int install(unsigned int action, unsigned int flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void *call_on(void *argument)
{
	struct caller *caller = argument;
	int filter = install(caller->action, caller->flags);

	__atomic_store_n(&caller->filter, filter, __ATOMIC_SEQ_CST);
	while (filter >= 0 && monotonic_ns() < caller->end_ns) {
		long result = syscall(SYS_getppid);

		caller->calls++;
		caller->wrong += (result < 0 ? -errno : result) != caller->wanted;
		if (!caller->flags)
			usleep(200);
	}
	return NULL;
}

/* Until the last one with the filter has ended. */
static void answer(int listener)
{
	struct pollfd ready = {.fd = listener, .events = POLLIN};

	while (poll(&ready, 1, 5000) > 0 && !(ready.revents & POLLHUP)) {
		struct seccomp_notif request;
		struct seccomp_notif_resp response = {.val = ANSWER};

		memset(&request, 0, sizeof(request));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request))
			continue;
		usleep(3000);
		response.id = request.id;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 1500) * MS;
	struct caller callers[] = {
		{.name = "tracer",
		 .action = SECCOMP_RET_TRACE,
		 .wanted = -ENOSYS,
		 .end_ns = end_ns,
		 .filter = -2},
		{.name = "supervisor",
		 .action = SECCOMP_RET_USER_NOTIF,
		 .flags = SECCOMP_FILTER_FLAG_NEW_LISTENER,
		 .wanted = ANSWER,
		 .end_ns = end_ns,
		 .filter = -2},
	};
	pthread_t threads[2];

	say_ready();
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, call_on, &callers[i]))
			return 2;
		while (__atomic_load_n(&callers[i].filter, __ATOMIC_SEQ_CST) == -2)
			usleep(100);
	}
	if (callers[0].filter < 0 || callers[1].filter < 0) {
		puts("{\"absent\": \"these filters are refused\"}");
		return 0;
	}
	answer(callers[1].filter);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		printf("{\"name\": \"%s\", \"calls\": %lu, \"wrong\": %lu}\n", callers[i].name,
		       callers[i].calls, callers[i].wrong);
	}
	return 0;
}
