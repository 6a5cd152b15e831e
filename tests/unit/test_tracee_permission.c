// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/err.h"
#include "tests/unit/unit.h"
#include "tracee/permission.h"

#define OUR_UID 1000

/* A process of our own user that the kernel gives no visible reason to refuse. */
static struct refusal ordinary(void)
{
	return (struct refusal){
		.pid = 4711,
		.reason = EPERM,
		.exists = true,
		.has_status = true,
		.is_dumpable = true,
		.our_uid = OUR_UID,
		.yama = YAMA_ABSENT,
		.status = {.tgid = 4711, .real_uid = OUR_UID, .effective_uid = OUR_UID},
		.stat = {.comm = "server", .state = 'S', .nr_threads = 4},
	};
}

static void assert_said(const struct refusal *refusal, const char *what, const char *hint)
{
	struct err err = ERR_INIT;

	assert_true(refusal_explain(refusal, &err) < 0);
	if (!strstr(err.what, what))
		fail_msg("'%s' lacks '%s'", err.what, what);
	if (!strstr(err.hint, hint))
		fail_msg("'%s' lacks '%s'", err.hint, hint);
}

TEST(refusal, says_what_yama_wants)
{
	struct refusal refusal = ordinary();

	refusal.yama = YAMA_DESCENDANTS;
	assert_said(&refusal, "Yama", "profc record");
	refusal.yama = YAMA_ADMIN;
	assert_said(&refusal, "Yama", "CAP_SYS_PTRACE");
	refusal.yama = YAMA_NOBODY;
	assert_said(&refusal, "Yama", "next boot");
	/* Not even root may at scope 3; at the others it is not Yama that forbids it. */
	refusal.may_trace_all = true;
	assert_said(&refusal, "Yama", "next boot");
	refusal.yama = YAMA_ADMIN;
	assert_said(&refusal, "the kernel does not allow", "security module");
}

TEST(refusal, names_the_other_tracer_first)
{
	struct refusal refusal = ordinary();

	refusal.yama = YAMA_DESCENDANTS;
	refusal.tracer = 99;
	strcpy(refusal.tracer_name, "gdb");
	assert_said(&refusal, "already traced by gdb (pid 99)", "one tracer");
	/* Without it the same user would be refused again. */
	refusal.status.real_uid = refusal.status.effective_uid = 42;
	assert_said(&refusal, "already traced by gdb (pid 99)", "as uid 42, as root");
	refusal.may_trace_all = true;
	assert_said(&refusal, "already traced by gdb (pid 99)", "one tracer");
}

TEST(refusal, of_another_user_is_not_blamed_on_yama)
{
	struct refusal refusal = ordinary();

	refusal.yama = YAMA_DESCENDANTS;
	refusal.status.real_uid = refusal.status.effective_uid = 33;
	refusal.is_dumpable = false;
	assert_said(&refusal, "another user (uid 33)", "as that user");
}

TEST(refusal, of_a_program_that_runs_as_another_user)
{
	struct refusal refusal = ordinary();

	refusal.status.effective_uid = 33;
	refusal.is_dumpable = false;
	assert_said(&refusal, "runs set-user-id, as uid 33", "as root");
}

TEST(refusal, of_a_process_that_forbids_it)
{
	struct refusal refusal = ordinary();

	refusal.is_dumpable = false;
	assert_said(&refusal, "not dumpable", "PR_SET_DUMPABLE");
	refusal.is_dumpable = true;
	refusal.status.permitted_capabilities = UINT64_C(1) << 10;
	assert_said(&refusal, "has capabilities", "CAP_SYS_PTRACE");
	refusal.our_capabilities = UINT64_C(3) << 10;
	assert_said(&refusal, "the kernel does not allow", "container");
}

TEST(refusal, names_the_profile_of_apparmor_and_its_rule)
{
	struct refusal refusal = ordinary();

	/* It answers EACCES, a filter of system calls EPERM. */
	strcpy(refusal.profile, "docker-default");
	strcpy(refusal.peer, "unconfined");
	assert_said(&refusal, "the kernel does not allow", "seccomp");
	refusal.reason = EACCES;
	assert_said(&refusal, "AppArmor does not let profc trace process 4711",
		    "the profile docker-default confines profc");
	assert_said(&refusal, "AppArmor", ": ptrace (trace, read) peer=unconfined,");
	strcpy(refusal.peer, "service");
	assert_said(&refusal, "AppArmor",
		    " peer=service, and to that of the process: ptrace (tracedby, readby),");
	*refusal.peer = '\0';
	assert_said(&refusal, "AppArmor", ": ptrace (trace, read),");
	*refusal.profile = '\0';
	assert_said(&refusal, "the kernel does not allow", "security module");
}

TEST(refusal, names_the_contexts_of_selinux)
{
	struct refusal refusal = ordinary();

	/* Each process has one where SELinux is on, also what Yama or a filter refuses. */
	strcpy(refusal.context, "system_u:system_r:profc_t:s0");
	strcpy(refusal.peer_context, "system_u:system_r:secret_t:s0");
	assert_said(&refusal, "the kernel does not allow", "seccomp");
	refusal.reason = EACCES;
	assert_said(&refusal, "SELinux does not let profc trace process 4711",
		    "system_u:system_r:profc_t:s0, the process in system_u:system_r:secret_t:s0: ");
	assert_said(&refusal, "SELinux", "ausearch -m avc");
	*refusal.peer_context = '\0';
	assert_said(&refusal, "SELinux", "system_u:system_r:profc_t:s0: `ausearch");
	refusal.unread = "maps";
	assert_said(&refusal, "SELinux does not let profc read /proc/4711/maps", "profc_t:s0: ");
}

TEST(refusal, names_the_file_that_may_not_be_read)
{
	struct refusal refusal = ordinary();

	refusal.reason = EACCES;
	refusal.unread = "task";
	assert_said(&refusal, "profc may not read /proc/4711/task", "security module");
	strcpy(refusal.profile, "narrow");
	assert_said(&refusal, "AppArmor does not let profc read /proc/4711/task",
		    "that profile: @{PROC}/@{pids}/task/{,**} r,");
	/* It may be traced. */
	refusal.reason = 0;
	refusal.unread = "maps";
	assert_said(&refusal, "does not let profc read /proc/4711/maps", "@{PROC}/@{pids}/maps r,");
	refusal.has_status = false;
	assert_said(&refusal, "does not let profc read /proc/4711/status", "/status r,");
}

TEST(refusal, of_no_running_process)
{
	struct refusal refusal = ordinary();

	refusal.has_status = false;
	assert_said(&refusal, "exists, but /proc does not show it", "hidepid");
	refusal.exists = false;
	assert_said(&refusal, "there is no process 4711", "");
	refusal = ordinary();
	refusal.stat.flags = PROC_FLAG_KTHREAD;
	assert_said(&refusal, "thread of the kernel", "");
	refusal = ordinary();
	refusal.stat.state = 'Z';
	assert_said(&refusal, "the kernel does not allow", ""); /* other threads live on */
	refusal.stat.nr_threads = 1;
	assert_said(&refusal, "process 4711 (server) has exited already", "");
	refusal = ordinary();
	refusal.reason = ESRCH;
	assert_said(&refusal, "has ended meanwhile", "");
	refusal.reason = EIO;
	assert_said(&refusal, "cannot trace process 4711", "");
}
