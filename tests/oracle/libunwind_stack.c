// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What libunwind makes of the threads of a process, with nothing of profc between:
 *
 *	libunwind_stack PID
 *
 * Prints "thread TID" and, leaf first, "pc ADDRESS" for each frame: where it stands, for callers
 * the byte before the return address. The process is let run on as it was.
 */
#include <dirent.h>
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define FRAMES_MAX 10000

static int print_stack(unw_addr_space_t space, pid_t tid)
{
	void *access = _UPT_create(tid);
	bool is_exact = true; /* not a return address */
	unw_cursor_t cursor;
	int nr = 0;

	if (!access)
		return -1;
	printf("thread %d\n", tid);
	if (unw_init_remote(&cursor, space, access) == 0) {
		do {
			unw_word_t pc = 0;

			unw_get_reg(&cursor, UNW_REG_IP, &pc);
			if (!pc)
				break;
			printf("pc %" PRIx64 "\n", (uint64_t)pc - !is_exact);
			is_exact = unw_is_signal_frame(&cursor) > 0;
		} while (++nr < FRAMES_MAX && unw_step(&cursor) > 0);
	}
	_UPT_destroy(access);
	return 0;
}

static int look_at_thread(unw_addr_space_t space, pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) {
		perror("libunwind_stack: ptrace");
		return -1;
	}
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -1;
	status = print_stack(space, tid);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return status;
}

int main(int argc, char **argv)
{
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	const struct dirent *entry;
	int status = EXIT_SUCCESS;
	char path[64];
	DIR *threads;

	if (argc != 2 || !space)
		return EXIT_FAILURE;
	snprintf(path, sizeof(path), "/proc/%ld/task", strtol(argv[1], NULL, 10));
	threads = opendir(path);
	if (!threads) {
		perror(path);
		return EXIT_FAILURE;
	}
	while ((entry = readdir(threads)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && look_at_thread(space, tid))
			status = EXIT_FAILURE;
	}
	closedir(threads);
	unw_destroy_addr_space(space);
	return status;
}
