// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command up to the entry of its program. */
#include "inject/entry.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "inject/machine.h"
#include "proc/read.h"
#include "proc/target_memory.h"
#include "tracee/launch.h"

#define ALIGN_BYTES  UINT64_C(16)
#define SEGMENTS_MAX 64
/* Arguments, environment and vector of a program: the kernel allows 6 MiB of all. */
#define STACK_WORDS_MAX (UINT64_C(1) << 20)

/*
 * launch_run() waits until the exec is over, and the exec waits for the tracer, so it has its own
 * thread.
 */
struct run {
	struct launch *launch;
	int failed;
};

static void *run_launch(void *context)
{
	struct run *run = context;

	run->failed = launch_run(run->launch);
	return NULL;
}

/* Waits for the next stop. False: the process has ended, and is not reaped. */
static bool next_stop(pid_t pid, int *status)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_PID, (id_t)pid, &info,
		      WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) < 0) {
		if (errno != EINTR)
			return false;
	}
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return false;
	return waitpid(pid, status, __WALL | __WNOTHREAD) == pid && WIFSTOPPED(*status);
}

/*
 * Continues by `request`, with `*signal` delivered, up to the next stop; then `*signal` is the next
 * one to deliver. A group-stop is not kept: a command that is stopped before it begins is stopped a
 * bit later.
 */
static bool go_to_next(pid_t pid, int request, int *signal, int *status)
{
	if (ptrace(request, pid, NULL, (void *)(long)*signal) < 0 || !next_stop(pid, status))
		return false;
	*signal = *status >> 16 || WSTOPSIG(*status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(*status);
	return true;
}

static bool is_exec(int status)
{
	return status >> 16 == PTRACE_EVENT_EXEC && WSTOPSIG(status) == SIGTRAP;
}

/* A stop at the begin or the end of a system call. */
static bool is_at_call(int status)
{
	return !(status >> 16) && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* From the auxiliary vector of the program. */
struct vector {
	uint64_t entry, loader, segments, nr_segments;
};

static bool read_vector(pid_t pid, struct vector *vector)
{
	struct buf bytes = {0};
	bool is_read = proc_read_process_file(pid, "auxv", &bytes);

	*vector = (struct vector){.entry = 0};
	for (size_t i = 0; is_read && i + 16 <= bytes.nr_bytes; i += 16) {
		uint64_t pair[2];

		memcpy(pair, bytes.bytes + i, sizeof(pair));
		if (pair[0] == AT_ENTRY)
			vector->entry = pair[1];
		else if (pair[0] == AT_BASE)
			vector->loader = pair[1];
		else if (pair[0] == AT_PHDR)
			vector->segments = pair[1];
		else if (pair[0] == AT_PHNUM)
			vector->nr_segments = pair[1];
	}
	buf_release(&bytes);
	return vector->entry != 0;
}

static bool get_regs(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov) == 0;
}

/* Sets the thread to the first instruction, outside of system calls. */
static bool stand_at(struct entry_stop *stop, struct user_regs_struct *regs, uint64_t entry)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	inject_go_to(regs, entry);
	stop->has_thread_data = inject_thread_pointer(stop->pid, regs) != 0;
	return ptrace(PTRACE_SETREGSET, stop->pid, (void *)NT_PRSTATUS, &iov) == 0;
}

static bool read_bytes(struct target_memory *memory, uint64_t at, void *bytes, size_t nr)
{
	return target_memory_get(memory, at, bytes, nr);
}

static bool write_bytes(struct target_memory *memory, uint64_t at, const void *bytes, size_t nr)
{
	return target_memory_put(memory, at, bytes, nr);
}

/*
 * Returns an address after code in its last page, which is mapped like the code, and is no part of
 * the program. 0: there is no room. `first` is where the file's first byte is mapped; 0: not known.
 */
static uint64_t room_behind_code(struct target_memory *memory, uint64_t first, uint64_t headers,
				 uint64_t nr, size_t nr_bytes)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	uint64_t bias = first;

	if (!nr || nr > SEGMENTS_MAX ||
	    !read_bytes(memory, headers, segments, nr * sizeof(*segments)))
		return 0;
	for (uint64_t i = 0; i < nr && !first; i++) {
		if (segments[i].p_type == PT_PHDR)
			bias = headers - segments[i].p_vaddr;
	}
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t end = bias + segments[i].p_vaddr + segments[i].p_memsz;
		uint64_t at = (end + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);

		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X && end &&
		    at % page_bytes() && page_bytes() - at % page_bytes() >= nr_bytes)
			return at;
	}
	return 0;
}

static uint64_t find_room(struct target_memory *memory, const struct vector *vector,
			  size_t nr_bytes)
{
	Elf64_Ehdr header;
	uint64_t room = 0;

	if (read_bytes(memory, vector->loader, &header, sizeof(header)) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
		room = room_behind_code(memory, vector->loader, vector->loader + header.e_phoff,
					header.e_phnum, nr_bytes);
	return room ? room
		    : room_behind_code(memory, 0, vector->segments, vector->nr_segments, nr_bytes);
}

/*
 * The address of the word with the entry, which the loader reads: it is above arguments and
 * environment, each ended by a 0.
 */
static uint64_t find_entry_word(struct target_memory *memory, uint64_t sp)
{
	enum { PIECE_WORDS = 512 };
	uint64_t words[PIECE_WORDS], nr_ended = 0, first_of_vector = 0, last = 0;

	for (uint64_t i = 1; i < STACK_WORDS_MAX;
	     i++) { /* the first word is the number of arguments */
		uint64_t k = (i - 1) % PIECE_WORDS;
		size_t got = sizeof(words);

		if (k == 0)
			got = target_memory_read(memory, sp + 8 * i, words, sizeof(words));
		if (!got)
			return 0;
		memset((char *)words + got, 0, sizeof(words) - got);
		if (nr_ended < 2) {
			nr_ended += !words[k];
			first_of_vector = i + 1;
		} else if ((i - first_of_vector) % 2) {
			if (last == AT_ENTRY)
				return sp + 8 * i;
			if (last == AT_NULL)
				return 0;
		}
		last = words[k];
	}
	return 0;
}

/* The place to which the loader is sent, and the bytes that were there. */
struct detour {
	uint64_t entry, word, at; /* at: 0: there is no loader */
	struct inject_detour new;
	uint8_t former[INJECT_DETOUR_MAX_BYTES];
};

/* For a command that has just executed its program. */
static bool make_detour(struct entry_stop *stop, struct detour *detour)
{
	struct user_regs_struct regs;
	struct vector vector;

	if (!read_vector(stop->pid, &vector) || !get_regs(stop->pid, &regs))
		return false;
	*detour = (struct detour){.entry = vector.entry};
	if (inject_pc(&regs) == vector.entry)
		return true;
	inject_make_detour(&detour->new, vector.entry);
	detour->at = find_room(stop->memory, &vector, detour->new.nr_bytes);
	detour->word = find_entry_word(stop->memory, inject_stack_pointer(&regs));
	/* In this order, as profc may be killed in between. */
	return detour->at && detour->word &&
	       read_bytes(stop->memory, detour->at, detour->former, detour->new.nr_bytes) &&
	       write_bytes(stop->memory, detour->at, detour->new.code, detour->new.nr_bytes) &&
	       write_bytes(stop->memory, detour->word, &detour->at, sizeof(detour->at));
}

static bool end_detour(struct entry_stop *stop, const struct detour *detour)
{
	return !detour->at ||
	       (write_bytes(stop->memory, detour->word, &detour->entry, sizeof(detour->entry)) &&
		write_bytes(stop->memory, detour->at, detour->former, detour->new.nr_bytes));
}

enum arrival { ARRIVED, EXECUTED_AGAIN, NOT_ARRIVED };

/* Runs to the end of the call in the detour or, without one, of the exec itself. */
static enum arrival run_detour(struct entry_stop *stop, const struct detour *detour,
			       struct user_regs_struct *regs)
{
	unsigned int nr_seen = 0, nr_wanted = detour->at ? 2 : 1;
	int signal = 0, status;

	while (nr_seen < nr_wanted) {
		if (!go_to_next(stop->pid, PTRACE_SYSCALL, &signal, &status))
			return NOT_ARRIVED;
		if (is_exec(status))
			return EXECUTED_AGAIN;
		if (!is_at_call(status))
			continue;
		if (!get_regs(stop->pid, regs))
			return NOT_ARRIVED;
		nr_seen += !detour->at || inject_pc(regs) == detour->at + detour->new.called_offset;
	}
	return ARRIVED;
}

static bool open_memory(struct entry_stop *stop)
{
	target_memory_close(stop->memory);
	stop->memory = target_memory_open(stop->pid, NULL);
	return stop->memory;
}

/* The command has executed a program; a constructor of a library may execute another one. */
static bool run_to_entry(struct entry_stop *stop)
{
	struct user_regs_struct regs;
	enum arrival arrival;
	struct detour detour;

	do {
		if (!open_memory(stop) || !make_detour(stop, &detour))
			return false;
		arrival = run_detour(stop, &detour, &regs);
	} while (arrival == EXECUTED_AGAIN);
	return arrival == ARRIVED && end_detour(stop, &detour) &&
	       stand_at(stop, &regs, detour.entry);
}

/* An exec of the command, from its entry on. */
struct attempt {
	struct user_regs_struct regs;
	uint64_t path; /* address of the program's name; 0: it is not in an exec */
};

/* May the file be executed, as far as its permissions go? The command has the rights of profc. */
static bool may_execute(pid_t pid, uint64_t path)
{
	struct target_memory *memory = target_memory_open(pid, NULL);
	char name[PATH_MAX] = "";

	if (memory)
		target_memory_read(memory, path, name, sizeof(name) - 1);
	target_memory_close(memory);
	return *name && eaccess(name, X_OK) == 0;
}

/*
 * Security modules forbid a traced process to execute a program that gets rights of its own (a
 * profile of AppArmor), if its tracer may not trace those. True: the exec, which is at its end, was
 * such a one, and the command stands before it again.
 */
static bool is_forbidden_to_traced(pid_t pid, struct attempt *attempt)
{
	struct iovec iov = {.iov_base = &attempt->regs, .iov_len = sizeof(attempt->regs)};
	struct __ptrace_syscall_info info = {0};
	uint64_t path = attempt->path;

	attempt->path = 0;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_execve &&
	    get_regs(pid, &attempt->regs))
		attempt->path = info.entry.args[0];
	if (info.op != PTRACE_SYSCALL_INFO_EXIT || !path ||
	    (info.exit.rval != -EACCES && info.exit.rval != -EPERM) || !may_execute(pid, path))
		return false;
	inject_go_before_call(&attempt->regs);
	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &iov) == 0;
}

enum executed { EXECUTED, NOT_EXECUTED, FORBIDDEN_TO_TRACED };

static enum executed run_to_exec(pid_t pid)
{
	struct attempt attempt = {.path = 0};
	int signal = 0, status;

	do {
		if (!go_to_next(pid, PTRACE_SYSCALL, &signal, &status))
			return NOT_EXECUTED;
		if (is_at_call(status) && is_forbidden_to_traced(pid, &attempt))
			return FORBIDDEN_TO_TRACED;
	} while (!is_exec(status));
	return EXECUTED;
}

/* Stop the command before it is released: else its exec may come before the interrupt. */
static const char *why_not_held(pid_t pid)
{
	int status;

	errno = 0;
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)) <
	    0)
		return "the command could not be attached to";
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return "the command could not be interrupted before its beginning";
	return next_stop(pid, &status) ? NULL : "the command did not stop before its beginning";
}

int entry_run(struct entry_stop *stop, struct launch *launch)
{
	struct run run = {.launch = launch};
	enum executed executed;
	pthread_t runner;

	*stop = (struct entry_stop){.pid = launch->pid};
	stop->why = why_not_held(launch->pid);
	stop->error = stop->why ? errno : pthread_create(&runner, NULL, run_launch, &run);
	if (!stop->why && stop->error)
		stop->why = "no thread could be started to wait for the command";
	if (stop->why) {
		entry_end(stop);
		return launch_run(launch);
	}
	executed = run_to_exec(launch->pid);
	stop->is_stopped = executed == EXECUTED && run_to_entry(stop);
	if (!stop->is_stopped) {
		stop->is_forbidden = executed == FORBIDDEN_TO_TRACED;
		stop->why = stop->is_forbidden ? "a security module does not let the command be "
						 "executed under a tracer"
					       : "the command did not reach its beginning";
		entry_end(stop);
	}
	pthread_join(runner, NULL);
	if (run.failed && stop->is_stopped)
		entry_end(stop);
	return run.failed;
}

void entry_end(struct entry_stop *stop)
{
	ptrace(PTRACE_DETACH, stop->pid, NULL, NULL);
	target_memory_close(stop->memory);
	stop->memory = NULL;
	stop->is_stopped = false;
}
