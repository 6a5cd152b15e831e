/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_TASK_H
#define PROFC_PROC_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The files of /proc/PID/task/TID about a thread's activity, from their text (proc_pid_stat(5) and
 * its neighbours). Each parser returns false, with the result untouched, when the text is not of
 * its file.
 */

/* schedstat: exact while the thread is off the CPU; else cpu_ns is as old as the last tick. */
struct proc_schedstat {
	uint64_t cpu_ns;  /* on a CPU */
	uint64_t runq_ns; /* runnable, waiting for one */
	uint64_t pcount;  /* times scheduled in; always 0 on kernels that do not count */
};

bool proc_schedstat_parse(const char *text, size_t nr_bytes, struct proc_schedstat *schedstat);

struct proc_stat;
struct proc_status;

/*
 * As above on kernels that count nothing there (built without CONFIG_SCHED_INFO), from the other
 * files: CPU time to a clock tick of `tick_ns`, no waiting, and in place of the times scheduled in
 * those scheduled out, which are as many whenever the thread is off the CPU.
 */
struct proc_schedstat proc_schedstat_from(const struct proc_stat *stat,
					  const struct proc_status *status, uint64_t tick_ns);

#define PROC_COMM_MAX_BYTES 64 /* 15 for programs; kernel threads may show more */

struct proc_stat {
	char comm[PROC_COMM_MAX_BYTES]; /* NUL-terminated; may hold anything, ')' included */
	char state;			/* R S D T t Z X … */
	pid_t pid, ppid;
	pid_t pgrp, session;		   /* its process group's and its session's leaders */
	uint64_t flags;			   /* PF_…, see the PROC_FLAG_ constants */
	uint64_t nr_faults;		   /* page faults served without input, */
	uint64_t nr_major_faults;	   /* and with it */
	uint64_t user_ticks, system_ticks; /* CPU time of this thread in clock ticks */
	uint64_t child_ticks;		   /* that of all its reaped children, and of theirs */
	uint64_t nr_threads;
	uint64_t start_ticks; /* since boot, in clock ticks; identifies a process together with its
				 pid */
	uint64_t first_sp;    /* at the start of the program; 0: unknown, or hidden from us */
	/* Where its program and its first stack are: another after an exec. 0: likewise. */
	uint64_t program_mark;
	/*
	 * The user registers of a thread that will not return to user space: of one with
	 * PROC_FLAG_DUMPS_CORE and, in most versions of Linux, of the others of its process, which
	 * wait for the end of the core. Else 0.
	 */
	uint64_t last_sp, last_pc;
	int exit_signal; /* that its end sends to its parent; 0: none, or not known */
	int cpu;	 /* where it runs or last ran; -1: the line is cut before it */
	int rt_priority; /* of a real-time thread, 1 to 99; else 0 */
};

/* Exiting: PF_EXITING; PF_POSTCOREDUMP a bit earlier; PF_SIGNALED before both. */
#define PROC_FLAGS_ENDING     UINT64_C(0x0000040c)
#define PROC_FLAG_EXITING     UINT64_C(0x00000004)
#define PROC_FLAG_LEAVING     UINT64_C(0x00000008) /* PF_POSTCOREDUMP */
#define PROC_FLAG_DUMPS_CORE  UINT64_C(0x00000200) /* it writes its core, or has (or would have) */
#define PROC_FLAG_USER_WORKER UINT64_C(0x00004000) /* an io_uring or vhost thread: no user code */
#define PROC_FLAG_KTHREAD     UINT64_C(0x00200000)

bool proc_stat_parse(const char *text, size_t nr_bytes, struct proc_stat *stat);
/*
 * Where the heap of the process begins, or will: from there on it grows upwards by brk(2). False:
 * it is hidden from us.
 */
bool proc_stat_heap_start(const char *text, size_t nr_bytes, uint64_t *start);

/* io: bytes that its calls have read and written, rchar and wchar. */
bool proc_io_parse(const char *text, size_t nr_bytes, uint64_t *read_bytes,
		   uint64_t *written_bytes);

enum proc_syscall_kind {
	PROC_SYSCALL_RUNNING, /* "running": nothing else is known */
	PROC_SYSCALL_INSIDE,  /* blocked in system call nr */
	PROC_SYSCALL_OUTSIDE, /* blocked outside of one (page fault, about to run): nr is -1 */
};

struct proc_syscall {
	enum proc_syscall_kind kind;
	int64_t nr;
	uint64_t args[6]; /* INSIDE only */
	uint64_t sp, pc;  /* not when RUNNING */
};

bool proc_syscall_parse(const char *text, size_t nr_bytes, struct proc_syscall *syscall);

#define PROC_PID_NAMESPACES_MAX 33 /* the kernel's MAX_PID_NS_LEVEL, and the first */

struct proc_status {
	pid_t tgid, ppid, tracer_pid;
	uint32_t real_uid, effective_uid;
	/* Its id in each PID namespace that has it, from ours inwards. */
	pid_t ns_pids[PROC_PID_NAMESPACES_MAX];
	unsigned nr_ns_pids;
	pid_t ns_pid; /* the id that the process itself sees: the last of these */
	uint64_t pending_thread, pending_process, blocked, ignored, caught; /* signal sets */
	uint64_t permitted_capabilities, effective_capabilities;
	uint32_t seccomp;      /* 0 off, 1 strict, 2 filter */
	uint32_t nr_filters;   /* of system calls; 1 before Linux 5.9, which does not say */
	uint64_t nr_yielded;   /* voluntary context switches */
	uint64_t nr_preempted; /* involuntary ones */
	bool no_new_privileges;
	bool kthread; /* false if the kernel does not say */
};

/* Lines that are missing leave their field 0; without Tgid it is no status text. */
bool proc_status_parse(const char *text, size_t nr_bytes, struct proc_status *status);

#endif
