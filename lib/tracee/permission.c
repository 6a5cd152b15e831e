// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds out by trying whether a process may be traced, and why not. */
#include "tracee/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scan.h"
#include "proc/program.h"
#include "proc/read.h"

#define CAPABILITY_SYS_PTRACE 19

enum yama_scope yama_scope_now(void)
{
	struct buf text = {0};
	struct scan scan;
	uint64_t number = 0;
	bool is_known;

	proc_read_file("/proc/sys/kernel/yama/ptrace_scope", &text);
	scan = (struct scan){.at = buf_str(&text), .end = buf_str(&text) + text.nr_bytes};
	is_known = scan_decimal(&scan, &number);
	buf_release(&text);
	if (!is_known)
		return YAMA_ABSENT;
	return number > YAMA_NOBODY ? YAMA_NOBODY : (enum yama_scope)number;
}

int refusal_of_proc(struct err *err)
{
	char self[32] = "";
	ssize_t nr_bytes = readlink("/proc/self", self, sizeof(self) - 1);
	struct scan scan = {.at = self, .end = self + (nr_bytes > 0 ? nr_bytes : 0)};
	uint64_t pid;

	if (scan_decimal(&scan, &pid) && pid == (uint64_t)getpid())
		return 0;
	err_set(err, ERR_UNSUPPORTED,
		"there is no /proc here, or it is that of another PID namespace: what profc has to "
		"know of a process stands there");
	err_hint(err, "mount -t proc proc /proc, or unshare --mount-proc");
	return ERR_UNSUPPORTED;
}

static bool has_ptrace(const struct proc_status *status)
{
	return status->effective_capabilities >> CAPABILITY_SYS_PTRACE & 1;
}

bool may_trace_all(void)
{
	struct proc_status status;

	return proc_read_status(getpid(), &status) && has_ptrace(&status);
}

/* The files of a process that must not be inspected belong to root. */
static bool is_dumpable(pid_t pid, const struct proc_status *status)
{
	struct stat file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return stat(path, &file) < 0 || file.st_uid == status->effective_uid;
}

static bool note_live_thread(void *context, pid_t tid)
{
	pid_t *live = context;
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_read_status(tid, &status) || !proc_read_task_stat(status.tgid, tid, &stat) ||
	    stat.state == 'Z' || stat.state == 'X')
		return true;
	*live = tid;
	return false;
}

/*
 * The thread with the facts of its process: `pid`, except that a leader which has ended before
 * other threads has no tracer, and no memory that would make it dumpable.
 */
static pid_t live_thread(pid_t pid, const struct proc_stat *stat)
{
	pid_t live = pid;

	if (stat->state == 'Z')
		proc_for_each_task(pid, note_live_thread, &live);
	return live;
}

/* "NAME (MODE)", or "unconfined"; in the mode "complain" nothing is refused. */
static void read_profile(pid_t pid, char *name)
{
	struct buf text = {0};
	const char *mode;
	int nr_bytes;

	*name = '\0';
	if (proc_read_process_file(pid, "attr/apparmor/current", &text)) {
		mode = strstr(buf_str(&text), " (");
		nr_bytes = (int)(mode ? (size_t)(mode - buf_str(&text))
				      : strcspn(buf_str(&text), "\n"));
		if (!mode || strncmp(mode, " (enforce)", 10) == 0)
			snprintf(name, PROFILE_MAX_BYTES, "%.*s", nr_bytes, buf_str(&text));
	}
	buf_release(&text);
}

/* "USER:ROLE:TYPE", and a level where there are levels. Other modules have nothing of that form. */
static void read_context(pid_t pid, char *context)
{
	struct buf text = {0};
	const char *role = NULL;

	*context = '\0';
	if (proc_read_process_file(pid, "attr/current", &text))
		role = strchr(buf_str(&text), ':');
	if (role && strchr(role + 1, ':'))
		snprintf(context, PROFILE_MAX_BYTES, "%.*s", (int)strcspn(buf_str(&text), " \n"),
			 buf_str(&text));
	buf_release(&text);
}

static void read_own_profile(char *name)
{
	read_profile(getpid(), name);
	if (strcmp(name, "unconfined") == 0)
		*name = '\0';
}

bool is_confined(void)
{
	char profile[PROFILE_MAX_BYTES];

	read_own_profile(profile);
	return *profile;
}

bool hint_at_profiles(struct err *err)
{
	char profile[PROFILE_MAX_BYTES];

	read_own_profile(profile);
	if (*profile)
		err_hint(err,
			 "the AppArmor profile %s confines profc: add to it: ptrace (trace, read), "
			 "and to that of the program, if it has one: ptrace (tracedby, readby),",
			 profile);
	return *profile;
}

/* The facts as they are now. */
static void gather(pid_t pid, int reason, struct refusal *refusal)
{
	struct proc_status ours = {0};
	struct proc_status tracer;
	pid_t witness;

	*refusal = (struct refusal){.pid = pid, .reason = reason, .yama = yama_scope_now()};
	refusal->exists = kill(pid, 0) == 0 || errno == EPERM;
	refusal->has_status = proc_read_status(pid, &refusal->status);
	proc_read_status(getpid(), &ours);
	refusal->may_trace_all = has_ptrace(&ours);
	refusal->our_capabilities = ours.permitted_capabilities;
	refusal->our_uid = geteuid();
	read_own_profile(refusal->profile);
	read_profile(pid, refusal->peer);
	read_context(getpid(), refusal->context);
	read_context(pid, refusal->peer_context);
	if (!refusal->has_status)
		return;
	proc_read_task_stat(refusal->status.tgid, pid, &refusal->stat);
	witness = live_thread(pid, &refusal->stat);
	if (witness != pid)
		proc_read_status(witness, &refusal->status);
	refusal->is_dumpable = is_dumpable(witness, &refusal->status);
	if (!refusal->status.tracer_pid)
		return;
	/* The kernel gives the tracing thread; users know processes. */
	refusal->tracer = refusal->status.tracer_pid;
	if (proc_read_status(refusal->tracer, &tracer))
		refusal->tracer = tracer.tgid;
	if (!proc_read_comm(refusal->tracer, refusal->tracer, refusal->tracer_name,
			    sizeof(refusal->tracer_name)))
		snprintf(refusal->tracer_name, sizeof(refusal->tracer_name), "?");
}

static void hint_at_contexts(const struct refusal *refusal, struct err *err)
{
	bool has_peer = *refusal->peer_context;

	err_hint(err,
		 "profc runs in the context %s%s%s: `ausearch -m avc -c profc` shows what was "
		 "denied; `setsebool deny_ptrace off` may allow it, in a container --security-opt "
		 "label=disable does",
		 refusal->context, has_peer ? ", the process in " : "", refusal->peer_context);
}

/* A process may always be listed, but a security module may forbid to read about it. */
static int explain_unread(const struct refusal *refusal, const char *file, struct err *err)
{
	if (!*refusal->profile && *refusal->context) {
		err_set(err, ERR_PERMISSION, "SELinux does not let profc read /proc/%d/%s",
			(int)refusal->pid, file);
		hint_at_contexts(refusal, err);
		return ERR_PERMISSION;
	}
	if (!*refusal->profile) {
		err_set(err, ERR_PERMISSION, "profc may not read /proc/%d/%s", (int)refusal->pid,
			file);
		err_hint(err, "a security module forbids it: try from the host");
		return ERR_PERMISSION;
	}
	err_set(err, ERR_PERMISSION, "AppArmor does not let profc read /proc/%d/%s",
		(int)refusal->pid, file);
	err_hint(err,
		 "the profile %s confines profc: run it from the host, or in a container of docker "
		 "run --security-opt apparmor=unconfined, or add to that profile: "
		 "@{PROC}/@{pids}/%s%s r,",
		 refusal->profile, file, strcmp(file, "task") == 0 ? "/{,**}" : "");
	return ERR_PERMISSION;
}

static int explain_absence(const struct refusal *refusal, struct err *err)
{
	if (!refusal->exists)
		return err_set(err, ERR_GONE, "there is no process %d", (int)refusal->pid);
	if (*refusal->profile)
		return explain_unread(refusal, "status", err);
	err_set(err, ERR_PERMISSION, "process %d exists, but /proc does not show it",
		(int)refusal->pid);
	err_hint(err, "/proc is mounted with hidepid here, or is that of another PID namespace: "
		      "run profc as the user of that process or as root");
	return ERR_PERMISSION;
}

static bool is_of_other_user(const struct refusal *refusal)
{
	return refusal->status.real_uid != refusal->our_uid ||
	       refusal->status.effective_uid != refusal->our_uid;
}

/* These set the reason in err, and return a hint, or NULL if err has that too. */

static const char *explain_tracer(const struct refusal *refusal, struct err *err)
{
	err_set(err, ERR_PERMISSION, "process %d is already traced by %s (pid %d)",
		(int)refusal->pid, refusal->tracer_name, (int)refusal->tracer);
	if (!refusal->may_trace_all && is_of_other_user(refusal)) {
		err_hint(err,
			 "it is not yours either: run profc as uid %u, as root, or with "
			 "CAP_SYS_PTRACE, and end or detach the other one first",
			 (unsigned int)refusal->status.real_uid);
		return NULL;
	}
	if (strcmp(refusal->tracer_name, "profc") == 0)
		return "--no-children, given to that one, leaves what its command starts to other "
		       "tracers: a process can have one only";
	return "a process can have one tracer only; end or detach the other one first";
}

static const char *explain_yama(const struct refusal *refusal, struct err *err)
{
	err_set(err, ERR_PERMISSION, "Yama does not let profc trace process %d", (int)refusal->pid);
	if (refusal->yama == YAMA_NOBODY)
		return "kernel.yama.ptrace_scope is 3: no process may attach to anything until the "
		       "next "
		       "boot";
	if (refusal->yama == YAMA_ADMIN)
		return "kernel.yama.ptrace_scope is 2: run profc as root or with CAP_SYS_PTRACE";
	return "kernel.yama.ptrace_scope is 1: start the program with `profc record`, run profc as "
	       "root, or: sysctl kernel.yama.ptrace_scope=0";
}

static const char *explain_apparmor(const struct refusal *refusal, struct err *err)
{
	bool has_profile = *refusal->peer && strcmp(refusal->peer, "unconfined") != 0;

	err_set(err, ERR_PERMISSION, "AppArmor does not let profc trace process %d",
		(int)refusal->pid);
	err_hint(err,
		 "the profile %s confines profc: run it from the host, or in a container of docker "
		 "run --security-opt apparmor=unconfined, or add to that profile: ptrace (trace, "
		 "read)%s%s,%s",
		 refusal->profile, *refusal->peer ? " peer=" : "", refusal->peer,
		 has_profile && strcmp(refusal->peer, refusal->profile) != 0
			 ? " and to that of the process: ptrace (tracedby, readby),"
			 : "");
	return NULL;
}

static const char *explain_eperm(const struct refusal *refusal, struct err *err)
{
	const char *as_root = "run profc as root or with CAP_SYS_PTRACE";
	const struct proc_status *status = &refusal->status;
	bool is_ordinary = !refusal->may_trace_all;
	int pid = (int)refusal->pid;

	if (refusal->tracer)
		return explain_tracer(refusal, err);
	if (is_ordinary && status->real_uid != refusal->our_uid) {
		err_set(err, ERR_PERMISSION, "process %d belongs to another user (uid %u)", pid,
			(unsigned int)status->real_uid);
		return "run profc as that user, as root, or with CAP_SYS_PTRACE";
	}
	if (is_ordinary && is_of_other_user(refusal)) {
		err_set(err, ERR_PERMISSION, "process %d runs set-user-id, as uid %u", pid,
			(unsigned int)status->effective_uid);
		return as_root;
	}
	if (is_ordinary && !refusal->is_dumpable) {
		err_set(err, ERR_PERMISSION, "process %d is not dumpable", pid);
		return "it runs set-user-id, has changed its user, or forbids it itself (prctl "
		       "PR_SET_DUMPABLE): run profc as root or with CAP_SYS_PTRACE";
	}
	if (is_ordinary && status->permitted_capabilities & ~refusal->our_capabilities) {
		err_set(err, ERR_PERMISSION, "process %d has capabilities that profc has not", pid);
		return as_root;
	}
	if (refusal->yama == YAMA_NOBODY || (refusal->yama > YAMA_CLASSIC && is_ordinary))
		return explain_yama(refusal, err);
	if (refusal->reason == EACCES && *refusal->profile)
		return explain_apparmor(refusal, err);
	/* Only security modules answer so, and but for these two no common one. */
	if (refusal->reason == EACCES && *refusal->context) {
		err_set(err, ERR_PERMISSION, "SELinux does not let profc trace process %d", pid);
		hint_at_contexts(refusal, err);
		return NULL;
	}
	err_set(err, ERR_PERMISSION, "the kernel does not allow tracing process %d", pid);
	return "it may be outside this container's reach (another user namespace), or a security "
	       "module or seccomp filter forbids ptrace(2): try from the host";
}

int refusal_explain(const struct refusal *refusal, struct err *err)
{
	const struct proc_stat *stat = &refusal->stat;
	const char *hint;

	if (!refusal->has_status)
		return explain_absence(refusal, err);
	if (stat->flags & PROC_FLAG_KTHREAD || refusal->status.kthread)
		return err_set(err, ERR_UNSUPPORTED, "process %d (%s) is a thread of the kernel",
			       (int)refusal->pid, stat->comm);
	if (stat->state == 'Z' && stat->nr_threads <= 1)
		return err_set(err, ERR_GONE, "process %d (%s) has exited already",
			       (int)refusal->pid, stat->comm);
	if (refusal->unread)
		return explain_unread(refusal, refusal->unread, err);
	if (refusal->reason == EPERM || refusal->reason == EACCES) {
		hint = explain_eperm(refusal, err);
		if (hint)
			err_hint(err, "%s", hint);
		return ERR_PERMISSION;
	}
	if (refusal->reason == ESRCH)
		return err_set(err, ERR_GONE, "process %d (%s) has ended meanwhile",
			       (int)refusal->pid, stat->comm);
	errno = refusal->reason;
	return err_sys(err, "cannot trace process %d", (int)refusal->pid);
}

/* --- by trying --- */

/*
 * Another profc has a thread for microseconds, a debugger for long; and during another thread's
 * exec the leader cannot be seized.
 */
#define TRIES	     20
#define TRY_PAUSE_NS NS_PER_MS

struct trial {
	pid_t tgid;
	pid_t own_tid;
	int reason; /* errno, or 0 */
};

static bool seize(void *context, pid_t tid)
{
	struct trial *trial = context;
	struct proc_stat stat;

	if (proc_read_task_stat(trial->tgid, tid, &stat) &&
	    (stat.state == 'Z' || stat.flags & PROC_FLAG_USER_WORKER))
		return true; /* a leader that has ended: ask the next thread */
	trial->reason = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 ? 0 : errno;
	return trial->reason == ESRCH;
}

/* Its end detaches what it has seized. */
static void *trial_main(void *argument)
{
	struct trial *trial = argument;

	trial->reason = ESRCH;
	trial->own_tid = gettid();
	if (proc_for_each_task(trial->tgid, seize, trial) < 0)
		trial->reason = errno;
	return NULL;
}

#define GONE_TRIES    2000
#define GONE_PAUSE_NS (50 * NS_PER_US)

/*
 * A thread is joined before the kernel detaches what it has seized: until it is gone, our next
 * seize would be refused.
 */
static void await_gone(pid_t tid)
{
	const struct timespec pause = {.tv_nsec = (long)GONE_PAUSE_NS};

	for (int i = 0; i < GONE_TRIES && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static int try_to_seize(pid_t tgid, int *reason, struct err *err)
{
	struct trial trial = {.tgid = tgid};
	pthread_t thread;

	errno = pthread_create(&thread, NULL, trial_main, &trial);
	if (errno)
		return err_start(err, "cannot start a thread");
	pthread_join(thread, NULL);
	await_gone(trial.own_tid);
	*reason = trial.reason;
	return 0;
}

static bool is_unread(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 && errno == EACCES;
}

/*
 * What we have to read about a process, and may not; NULL: we may. Only who may trace it may read
 * its mappings.
 */
static const char *unread_file(pid_t tgid, bool may_trace)
{
	char list[32], task[48], maps[32];

	snprintf(list, sizeof(list), "/proc/%d/task", (int)tgid);
	snprintf(task, sizeof(task), "%s/%d/stat", list, (int)tgid);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)tgid);
	if (is_unread(list) || is_unread(task))
		return "task";
	return may_trace && is_unread(maps) ? "maps" : NULL;
}

static int refuse(pid_t pid, int reason, const char *unread, struct err *err)
{
	struct refusal refusal;

	gather(pid, reason, &refusal);
	refusal.unread = unread;
	return refusal_explain(&refusal, err);
}

/* Another user's process is refused however long one waits. */
static bool is_for_good(const struct proc_status *status)
{
	return status->real_uid != geteuid() && !may_trace_all();
}

int permission_to_trace(pid_t pid, pid_t *tgid, struct err *err)
{
	const struct timespec pause = {.tv_nsec = (long)TRY_PAUSE_NS};
	struct proc_status status;
	const char *bits, *unread;
	int result = refusal_of_proc(err);
	int reason = EPERM;

	if (result < 0)
		return result;
	if (!proc_read_status(pid, &status))
		return refuse(pid, errno == EMFILE || errno == ENFILE ? errno : ESRCH, NULL, err);
	if (status.tgid == getpid())
		return err_set(err, ERR_INVALID, "process %d is profc itself", (int)pid);
	bits = proc_program_process_32_bit(status.tgid);
	if (bits)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d runs a 32-bit program (%s): profc supports 64-bit ones "
			       "only",
			       (int)pid, bits);
	for (int i = 0; i < TRIES && reason == EPERM; i++) {
		if (i && is_for_good(&status))
			break;
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (try_to_seize(status.tgid, &reason, err) < 0)
			return ERR_SYS;
	}
	unread = !reason || reason == EACCES ? unread_file(status.tgid, !reason) : NULL;
	if (reason || unread)
		return refuse(pid, reason, unread, err);
	*tgid = status.tgid;
	return 0;
}

int permission_to_trace_child(pid_t pid, const char *name, struct err *err)
{
	char by_id[32];
	pid_t tgid;
	int status = permission_to_trace(pid, &tgid, err);

	snprintf(by_id, sizeof(by_id), "process %d", (int)pid);
	if (status < 0)
		err_rename(err, by_id, name);
	return status;
}
