// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "target/child.h"
#include "target/refusal.h"
#include "target/target_priv.h"

/* The child's side, between fork and exec: only async-signal-safe calls. */
static _Noreturn void run_command(const struct target_command *command, int go_pipe, int errno_pipe)
{
	char go;
	int failed;
	ssize_t written;

	/* Signals that profc was told to ignore stay ignored: the shell wanted it so. */
	if (command->signals->ignores_children)
		signal(SIGCHLD, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &command->signals->mask, NULL);
	if (read(go_pipe, &go, 1) != 1)
		_exit(127); /* profc died, or could not seize us */
	execvp(command->argv[0], command->argv);
	failed = errno;
	written = write(errno_pipe, &failed, sizeof(failed));
	(void)written;
	_exit(127);
}

static int refuse(pid_t pid, int reason, struct err *err)
{
	struct refusal refusal;

	refusal_gather(pid, reason, &refusal);
	return refusal_explain(&refusal, err);
}

static int seize_child(struct target *target, pid_t pid, int go_pipe, struct err *err)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, target_ptrace_options(target, true)) < 0)
		return refuse(pid, errno, err);
	target_add(target, pid, pid);
	if (write(go_pipe, "", 1) != 1)
		return err_sys(err, "cannot start the command");
	return 0;
}

int target_spawn(struct target *target, const struct target_command *command, pid_t *pid,
		 struct err *err)
{
	int go[2] = {-1, -1};
	int result[2] = {-1, -1};
	pid_t child;
	int status = refusal_of_proc(err);

	if (status < 0)
		return status;
	if (pipe2(go, O_CLOEXEC) < 0)
		return err_sys(err, "cannot make a pipe");
	if (pipe2(result, O_CLOEXEC) < 0) {
		status = err_sys(err, "cannot make a pipe");
		goto out_go;
	}
	child = fork();
	if (child < 0) {
		status = err_start(err, "cannot fork");
		close(result[0]);
		goto out_result;
	}
	if (child == 0) {
		close(go[1]); /* or profc's death would not end the wait */
		run_command(command, go[0], result[1]);
	}
	target->command_errno_pipe = result[0];
	target->command_pid = child;
	status = seize_child(target, child, go[1], err);
	if (status == 0)
		*pid = child;
out_result:
	close(result[1]);
out_go:
	close(go[0]);
	close(go[1]); /* without a "go" the child leaves by itself */
	return status;
}

int target_exec_errno(struct target *target)
{
	int failed = 0;

	if (target->command_errno_pipe < 0)
		return 0;
	if (read(target->command_errno_pipe, &failed, sizeof(failed)) != sizeof(failed))
		failed = 0;
	close(target->command_errno_pipe);
	target->command_errno_pipe = -1;
	return failed;
}
