// SPDX-License-Identifier: GPL-2.0-or-later
/* May probes be put into a process? */
#include "inject/willing.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"
#include "proc/program.h"
#include "proc/read.h"
#include "proc/task.h"
#include "tracee/call_filters.h"

struct restrictions {
	uint64_t seccomp, nr_filters;
	bool has_shadow_stack;
	struct proc_status status;
};

static uint64_t number_after(const char *text, const char *label)
{
	const char *line = strstr(text, label);
	struct scan scan;
	uint64_t value = 0;

	if (!line)
		return 0;
	line += strlen(label);
	scan = (struct scan){.at = line, .end = line + strlen(line)};
	scan_blanks(&scan);
	return scan_decimal(&scan, &value) ? value : 0;
}

/* proc_pid_status(5); the number of filters since Linux 5.9, shadow stacks since 6.6. */
static bool read_restrictions(pid_t pid, pid_t tid, struct restrictions *found)
{
	struct buf text = {0};
	const char *features;
	char name[48];

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	if (!proc_read_process_file(pid, name, &text))
		return false;
	if (!proc_status_parse(buf_str(&text), text.nr_bytes, &found->status)) {
		buf_release(&text);
		return false;
	}
	features = strstr(buf_str(&text), "\nx86_Thread_features:");
	*found = (struct restrictions){
		.status = found->status,
		.seccomp = number_after(buf_str(&text), "\nSeccomp:"),
		.nr_filters = number_after(buf_str(&text), "\nSeccomp_filters:"),
		.has_shadow_stack =
			features && memmem(features, strcspn(features + 1, "\n"), "shstk", 5),
	};
	buf_release(&text);
	return true;
}

/* Has a child make the calls that a thread of the process will make, under our filters. */
static bool own_filters_allow(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		size_t nr_bytes = (size_t)page_bytes();
		int fd = memfd_create("profc-trial", MFD_CLOEXEC);
		void *at = fd >= 0 && ftruncate(fd, (off_t)nr_bytes) == 0
				   ? mmap(NULL, nr_bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0)
				   : MAP_FAILED;

		void *own = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		_exit(at == MAP_FAILED || own == MAP_FAILED ||
		      madvise(own, nr_bytes, MADV_WIPEONFORK) < 0 || munmap(at, nr_bytes) < 0 ||
		      close(fd) < 0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

void own_filters_read(struct own_filters *own)
{
	struct restrictions ours = {.seccomp = 0};

	read_restrictions(getpid(), getpid(), &ours);
	*own = (struct own_filters){.seccomp = ours.seccomp, .nr = ours.nr_filters};
	own->are_harmless = !own->seccomp || own_filters_allow();
	own->shows_others = call_filters_are_shown();
}

static bool has_others(const struct restrictions *its, const struct own_filters *own)
{
	return its->seccomp &&
	       (its->seccomp != own->seccomp || its->nr_filters > own->nr || !own->are_harmless);
}

enum willing willing_to_call(pid_t pid, pid_t tid, const struct own_filters *own,
			     struct proc_status *status)
{
	struct restrictions its;

	if (!read_restrictions(pid, tid, &its))
		return WILLING_NO;
	if (status)
		*status = its.status;
	if (!has_others(&its, own))
		return WILLING_YES;
	return own->shows_others ? WILLING_IF_ALLOWED : WILLING_NO;
}

int willing_to_be_probed(pid_t pid, const struct own_filters *own, struct err *err)
{
	struct restrictions its;

	if (!read_restrictions(pid, pid, &its))
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	if (proc_program_process_32_bit(pid))
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d runs a 32-bit program: its calls cannot be counted",
			       (int)pid);
	if (its.has_shadow_stack)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d uses a shadow stack: its calls cannot be counted yet",
			       (int)pid);
	if (has_others(&its, own) && !own->shows_others) {
		err_set(err, ERR_UNSUPPORTED,
			"process %d has a filter of system calls (seccomp), which may forbid "
			"mapping memory, or kill it for that, and which only root may read: its "
			"calls are "
			"not counted",
			(int)pid);
		return ERR_UNSUPPORTED;
	}
	return 0;
}
