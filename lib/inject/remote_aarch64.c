// SPDX-License-Identifier: GPL-2.0-or-later
/* No process makes calls for us yet: its code is not found. */
#include "inject/remote_machine.h"

#if defined(__aarch64__)

const uint32_t remote_audit_arch;
const uint64_t remote_call_bytes;

bool remote_find_call(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	(void)bytes;
	(void)nr_bytes;
	(void)offset;
	return false;
}

bool remote_find_restore(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	return remote_find_call(bytes, nr_bytes, offset);
}

bool remote_frame_make(struct remote_frame *frame, pid_t tid, const struct user_regs_struct *regs,
		       uint64_t mask, uint64_t restore)
{
	(void)frame;
	(void)tid;
	(void)regs;
	(void)mask;
	(void)restore;
	return false;
}

void remote_go_to_call(struct user_regs_struct *regs, uint64_t call,
		       const struct remote_frame *frame)
{
	(void)regs;
	(void)call;
	(void)frame;
}

void remote_go_to_restore(struct user_regs_struct *regs, const struct remote_frame *frame)
{
	remote_go_to_call(regs, 0, frame);
}

void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6])
{
	(void)regs;
	(void)nr;
	(void)args;
}

int64_t remote_result(const struct user_regs_struct *regs)
{
	(void)regs;
	return -1;
}

bool remote_runs_our_kind(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

uint64_t remote_thread_data(pid_t tid, const struct user_regs_struct *regs)
{
	(void)tid;
	(void)regs;
	return 0;
}

bool remote_is_frame_begin(uint64_t flags)
{
	(void)flags;
	return false;
}

#endif
