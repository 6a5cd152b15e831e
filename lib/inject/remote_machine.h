/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of remote.c that each processor has its own of: remote_x86_64.c, remote_aarch64.c. */
#ifndef PROFC_INJECT_REMOTE_MACHINE_H
#define PROFC_INJECT_REMOTE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_syscall;

/* The bytes of the instruction that makes a call. */
extern const uint64_t remote_call_bytes;
/*
 * Is the code that returns through a frame the kernel's own (vDSO), which no process unloads? Else
 * it is in the file of the code that makes calls.
 */
extern const bool remote_restores_in_vdso;

/*
 * The offset of the first code of each kind in these bytes, and whether there is one. Each is
 * shorter than REMOTE_CODE_MAX_BYTES.
 */
#define REMOTE_CODE_MAX_BYTES 16
bool remote_find_call(const uint8_t *bytes, size_t nr_bytes, size_t *offset);
bool remote_find_restore(const uint8_t *bytes, size_t nr_bytes, size_t *offset);

#define REMOTE_TEXT_BYTES 64

/* A signal frame for the stack of a thread, in which it can return. */
struct remote_frame {
	uint8_t *bytes; /* owned */
	size_t nr_bytes;
	uint64_t at;	  /* address of the first byte, below all that a leaf function may use */
	uint64_t restore; /* of the code that returns through it */
	/* Offsets of what the kernel does not read: 16 bytes, and REMOTE_TEXT_BYTES for texts. */
	size_t mark_at, text_at;
};

/*
 * Make the frame of a stopped thread, to continue with `regs` and the mask of signals. `restore` is
 * the address of a call of rt_sigreturn. False: its state cannot be put into one, and another
 * thread may do.
 */
bool remote_frame_make(struct remote_frame *frame, pid_t tid, const struct user_regs_struct *regs,
		       uint64_t mask, uint64_t restore);

/*
 * A shorter frame, through which a thread passes from a call to the next one: its registers and its
 * mask are set, and all else is as in `last`, the frame that the thread ends with. 0 bytes: there
 * is none on this processor.
 */
extern const size_t remote_passed_bytes;
void remote_passed_put(uint8_t *bytes, const struct remote_frame *last,
		       const struct user_regs_struct *regs, uint64_t mask);

/*
 * Set registers to the instruction that makes a call, and the return after it, which leads to the
 * frame; or to the return through the frame at once.
 */
void remote_go_to_call(struct user_regs_struct *regs, uint64_t call,
		       const struct remote_frame *frame);
void remote_go_to_restore(struct user_regs_struct *regs, const struct remote_frame *frame);
void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6]);
int64_t remote_result(const struct user_regs_struct *regs);

/*
 * Registers of a thread whose call, `before`, the stop has interrupted, and which has made others
 * since: where the kernel would have continued the call by restart_syscall(2), and has not been
 * asked, let them do so. Else the call begins with all of its time-out again.
 */
void remote_continue_call(struct user_regs_struct *regs, const struct proc_syscall *before);
/* Does the stopped thread run code of the kind that profc is? */
bool remote_runs_our_kind(const struct user_regs_struct *regs);

/*
 * May a signal frame's context (struct ucontext) begin with these flags? The words after them are a
 * link, and the address, the flags and the size of the stack that was made for handlers.
 */
bool remote_is_frame_begin(uint64_t flags);

#endif
