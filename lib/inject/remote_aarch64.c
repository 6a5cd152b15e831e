// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal frames and system calls of aarch64. */
#include "inject/remote_machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "base/alloc.h"
#include "proc/task.h"

#define SVC	      UINT32_C(0xd4000001) /* svc #0 */
#define RET	      UINT32_C(0xd65f03c0)
#define SET_SIGRETURN UINT32_C(0xd2801168) /* mov x8, #139 */

#define MODE_MASK  UINT64_C(0x1f)  /* of pstate; 0: 64-bit code of a program */
#define BTYPE_MASK UINT64_C(0xc00) /* of pstate: a landing pad is due */

/* arch/arm64/include/uapi/asm/sigcontext.h */
#define FPSIMD_MAGIC	     UINT32_C(0x46508001)
#define RESERVED_BYTES	     4096
#define SIGSET_BYTES	     128
#define INFO_BYTES	     128
#define SS_FLAGS_OF_NO_STACK 0x40 /* makes the kernel leave the alternate stack as it is */

/* Newer register sets: of streaming mode, of its matrix, and of guarded control stacks. */
#define SET_SSVE      0x40b
#define SET_ZA	      0x40c
#define SET_GCS	      0x410
#define SVE_REGS_LIVE 1

struct kernel_fpsimd {
	uint32_t magic, nr_bytes;
	uint32_t fpsr, fpcr;
	uint64_t vregs[64];
};

/* The form of NT_PRFPREG. */
struct kernel_fpsimd_regs {
	uint64_t vregs[64];
	uint32_t fpsr, fpcr, padding[2];
};

/* struct rt_sigframe as the kernel reads it back; of siginfo it reads nothing. */
struct frame {
	uint64_t mark[2];
	char text[REMOTE_TEXT_BYTES];
	uint8_t info[INFO_BYTES - 16 - REMOTE_TEXT_BYTES];
	uint64_t flags, link;
	uint64_t stack_sp;
	int32_t stack_flags;
	uint32_t padding;
	uint64_t stack_bytes;
	uint64_t sigmask;
	uint8_t unused[SIGSET_BYTES - 8];
	uint64_t alignment;
	uint64_t fault_address;
	uint64_t regs[31], sp, pc, pstate;
	uint64_t alignment_of_records;
	struct kernel_fpsimd fpsimd;
	uint8_t end[RESERVED_BYTES -
		    sizeof(struct kernel_fpsimd)]; /* begins with an empty record */
};

_Static_assert(offsetof(struct frame, flags) == 128, "as struct rt_sigframe");
_Static_assert(offsetof(struct frame, fault_address) == 128 + 176, "as struct ucontext");
_Static_assert(offsetof(struct frame, fpsimd) == 128 + 176 + 288, "as struct sigcontext");
_Static_assert(sizeof(struct kernel_fpsimd) == 528, "as struct fpsimd_context");

const uint64_t remote_call_bytes = sizeof(uint32_t);
const bool remote_restores_in_vdso = true;

/* Two instructions in a row. */
static bool find_words(const uint8_t *bytes, size_t nr_bytes, uint32_t first, uint32_t second,
		       size_t *offset)
{
	for (size_t i = 0; i + 2 * sizeof(first) <= nr_bytes; i += sizeof(first)) {
		uint32_t words[2];

		memcpy(words, bytes + i, sizeof(words));
		if (words[0] != first || words[1] != second)
			continue;
		*offset = i;
		return true;
	}
	return false;
}

bool remote_find_call(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	return find_words(bytes, nr_bytes, SVC, RET, offset);
}

bool remote_find_restore(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	return find_words(bytes, nr_bytes, SET_SIGRETURN, SVC, offset);
}

/* Returns how many bytes of a register set there are; 0: the machine has none such. */
static size_t get_set(pid_t tid, int set, void *out, size_t nr_bytes)
{
	struct iovec iov = {.iov_base = out, .iov_len = nr_bytes};

	return ptrace(PTRACE_GETREGSET, tid, (void *)(long)set, &iov) == 0 ? iov.iov_len : 0;
}

/* The header of the sets of vector registers that vary in length (struct user_sve_header). */
struct vector_header {
	uint32_t nr_bytes, max_bytes;
	uint16_t length, max_length, flags, reserved;
};

static bool is_live(pid_t tid, int set)
{
	struct vector_header header;

	return get_set(tid, set, &header, sizeof(header)) == sizeof(header) &&
	       header.flags & SVE_REGS_LIVE;
}

static bool has_matrix(pid_t tid)
{
	struct vector_header header;

	return get_set(tid, SET_ZA, &header, sizeof(header)) == sizeof(header) &&
	       header.nr_bytes > sizeof(header);
}

static bool has_control_stack(pid_t tid)
{
	uint64_t features;

	return get_set(tid, SET_GCS, &features, sizeof(features)) == sizeof(features) && features;
}

/*
 * A system call clears what registers of SVE have beyond 128 bits, leaves the streaming mode of
 * SME, and the frame has no records of both; nor has it the token by which a return through it
 * passes a guarded control stack.
 */
static bool keeps_state(pid_t tid)
{
	return !is_live(tid, NT_ARM_SVE) && !is_live(tid, SET_SSVE) && !has_matrix(tid) &&
	       !has_control_stack(tid);
}

static bool read_fp(pid_t tid, struct kernel_fpsimd *fpsimd)
{
	struct kernel_fpsimd_regs regs;

	if (get_set(tid, NT_PRFPREG, &regs, sizeof(regs)) <
	    offsetof(struct kernel_fpsimd_regs, padding))
		return false;
	*fpsimd = (struct kernel_fpsimd){.magic = FPSIMD_MAGIC,
					 .nr_bytes = sizeof(*fpsimd),
					 .fpsr = regs.fpsr,
					 .fpcr = regs.fpcr};
	memcpy(fpsimd->vregs, regs.vregs, sizeof(regs.vregs));
	return true;
}

bool remote_frame_make(struct remote_frame *frame, pid_t tid, const struct user_regs_struct *regs,
		       uint64_t mask, uint64_t restore)
{
	struct frame *made;

	if (!keeps_state(tid))
		return false;
	made = xcalloc(1, sizeof(*made));
	if (!read_fp(tid, &made->fpsimd)) {
		free(made);
		return false;
	}
	made->stack_flags = SS_FLAGS_OF_NO_STACK;
	made->sigmask = mask;
	memcpy(made->regs, regs->regs, sizeof(made->regs));
	made->sp = regs->sp;
	made->pc = regs->pc;
	made->pstate = regs->pstate;
	*frame = (struct remote_frame){.bytes = (uint8_t *)made,
				       .nr_bytes = sizeof(*made),
				       .at = (regs->sp - sizeof(*made)) & ~UINT64_C(15),
				       .restore = restore,
				       .mark_at = offsetof(struct frame, mark),
				       .text_at = offsetof(struct frame, text)};
	return true;
}

/* Frames of this processor are as large as a page: few would fit. */
const size_t remote_passed_bytes = 0;

void remote_passed_put(uint8_t *bytes, const struct remote_frame *last,
		       const struct user_regs_struct *regs, uint64_t mask)
{
	(void)bytes;
	(void)last;
	(void)regs;
	(void)mask;
}

static void go_to(struct user_regs_struct *regs, uint64_t pc, const struct remote_frame *frame)
{
	regs->pc = pc;
	regs->sp = frame->at;
	regs->pstate &= ~BTYPE_MASK;
}

void remote_go_to_call(struct user_regs_struct *regs, uint64_t call,
		       const struct remote_frame *frame)
{
	go_to(regs, call, frame);
	regs->regs[30] = frame->restore;
}

void remote_go_to_restore(struct user_regs_struct *regs, const struct remote_frame *frame)
{
	go_to(regs, frame->restore, frame);
}

void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6])
{
	memcpy(regs->regs, args, 6 * sizeof(*args));
	regs->regs[8] = (uint64_t)nr;
}

int64_t remote_result(const struct user_regs_struct *regs)
{
	return (int64_t)regs->regs[0];
}

/*
 * The kernel keeps the rest of the time of these calls; others with a time-out have it in memory,
 * or none. All arguments but the first are still in their registers.
 */
static bool has_rest(const struct user_regs_struct *regs)
{
	enum { WITHOUT_FLAGS = ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) };

	switch (regs->regs[8]) {
	case SYS_nanosleep:
		return true;
	case SYS_clock_nanosleep:
		return !(regs->regs[1] & TIMER_ABSTIME);
	case SYS_futex:
		return ((int)regs->regs[1] & WITHOUT_FLAGS) == FUTEX_WAIT && regs->regs[3];
	default:
		return false;
	}
}

/*
 * It stands at the call's instruction. The kernel would put the number of restart_syscall(2) in
 * place only as the thread leaves the stop, and looks at the registers then.
 */
void remote_continue_call(struct user_regs_struct *regs, const struct proc_syscall *before)
{
	if (before->kind == PROC_SYSCALL_INSIDE && before->pc == regs->pc + remote_call_bytes &&
	    regs->regs[8] == (uint64_t)before->nr && has_rest(regs))
		regs->regs[8] = SYS_restart_syscall;
}

bool remote_runs_our_kind(const struct user_regs_struct *regs)
{
	return !(regs->pstate & MODE_MASK);
}

bool remote_is_frame_begin(uint64_t flags)
{
	return !flags;
}

#endif
