// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal frames and system calls of x86-64. */
#include "inject/remote_machine.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "tracee/machine.h"

/* `syscall; ret`, and the SA_RESTORER of C libraries: `mov $15,%rax; syscall`. */
static const uint8_t call_code[] = {0x0f, 0x05, 0xc3};
static const uint8_t restore_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
static const uint8_t restore_code_short[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/* arch/x86/include/uapi/asm/ucontext.h */
#define UC_FP_XSTATE	     UINT64_C(0x1)
#define UC_SIGCONTEXT_SS     0x2
#define UC_STRICT_RESTORE_SS 0x4
#define SS_FLAGS_OF_NO_STACK 0x40 /* makes the kernel leave the alternate stack as it is */
#define XSTATE_MAX_BYTES     16384
#define FXSAVE_BYTES	     512
#define SW_RESERVED_OFFSET   464
#define FEATURES_TILES	     (UINT64_C(3) << 17) /* AMX: only if it is in use */
#define USER_CS		     0x33		 /* of 64-bit code */
#define FLAGS_OF_FRAME	     (UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS)
struct kernel_stack {
	uint64_t sp;
	int32_t flags;
	uint32_t padding;
	uint64_t size;
};

/* arch/x86/include/uapi/asm/sigcontext.h; some names differ from the C library's header. */
#define NR_GENERAL 18

struct kernel_sigcontext {
	uint64_t general[NR_GENERAL]; /* r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
					 flags */
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

#define XSTATE_MAGIC1 UINT32_C(0x46505853)
#define XSTATE_MAGIC2 UINT32_C(0x46505845)

struct fpx_sw_bytes {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t xstate_size, padding[7];
};

/* struct ucontext as the kernel reads it back. */
struct kernel_ucontext {
	uint64_t flags, link;
	struct kernel_stack stack;
	struct kernel_sigcontext mcontext;
	uint64_t sigmask;
};

struct frame {
	uint64_t restorer;
	struct kernel_ucontext context;
	uint8_t info[128];
	uint64_t mark[2]; /* random */
	char text[REMOTE_TEXT_BYTES];
};

const uint64_t remote_call_bytes = 2;
const bool remote_restores_in_vdso = false;

_Static_assert(sizeof(restore_code) < REMOTE_CODE_MAX_BYTES, "it is found in overlapping pieces");

static bool find_bytes(const uint8_t *bytes, size_t nr_bytes, const uint8_t *wanted, size_t nr,
		       size_t *offset)
{
	const uint8_t *found = memmem(bytes, nr_bytes, wanted, nr);

	*offset = found ? (size_t)(found - bytes) : 0;
	return found;
}

bool remote_find_call(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	return find_bytes(bytes, nr_bytes, call_code, sizeof(call_code), offset);
}

bool remote_find_restore(const uint8_t *bytes, size_t nr_bytes, size_t *offset)
{
	return find_bytes(bytes, nr_bytes, restore_code, sizeof(restore_code), offset) ||
	       find_bytes(bytes, nr_bytes, restore_code_short, sizeof(restore_code_short), offset);
}

/*
 * The size of the saved state that the kernel takes back, without unused parts. Parts lie in the
 * order of their numbers, so that the last one's end is that of all; the kernel computes it
 * likewise (xstate_calculate_size()). In a virtual machine, each question to the processor takes as
 * long as a stop. A processor with such a state answers this one.
 */
static size_t xstate_bytes(uint64_t features)
{
	const uint64_t extended = features & ~UINT64_C(3);
	unsigned int nr_bytes, at, c, d;

	if (!extended)
		return FXSAVE_BYTES + 64;
	__cpuid_count(0xd, 63 - (unsigned int)__builtin_clzll(extended), nr_bytes, at, c, d);
	return (size_t)at + nr_bytes;
}

struct saved_fp {
	uint8_t bytes[XSTATE_MAX_BYTES + 8]; /* with the magic number behind them */
	size_t nr_bytes;
};

/* The form in which the kernel saves it (arch/x86/kernel/fpu/signal.c). */
static bool read_fp(pid_t tid, struct saved_fp *fp)
{
	struct iovec iov = {.iov_base = fp->bytes, .iov_len = XSTATE_MAX_BYTES};
	struct fpx_sw_bytes software = {.magic1 = XSTATE_MAGIC1};
	const uint32_t magic2 = XSTATE_MAGIC2;
	uint64_t features, used;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &iov) < 0 ||
	    iov.iov_len < FXSAVE_BYTES + 64) {
		iov.iov_len = FXSAVE_BYTES;
		if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &iov) < 0)
			return false;
		memset(fp->bytes + SW_RESERVED_OFFSET, 0, FXSAVE_BYTES - SW_RESERVED_OFFSET);
		fp->nr_bytes = FXSAVE_BYTES;
		return true;
	}
	memcpy(&features, fp->bytes + SW_RESERVED_OFFSET, sizeof(features));
	memcpy(&used, fp->bytes + FXSAVE_BYTES, sizeof(used));
	if (!(used & FEATURES_TILES))
		features &= ~FEATURES_TILES;
	software.features = features;
	software.xstate_size = (uint32_t)xstate_bytes(features);
	if (software.xstate_size > iov.iov_len)
		return false;
	software.extended_size = software.xstate_size + (uint32_t)sizeof(magic2);
	memcpy(fp->bytes + SW_RESERVED_OFFSET, &software, sizeof(software));
	memcpy(fp->bytes + software.xstate_size, &magic2, sizeof(magic2));
	fp->nr_bytes = software.extended_size;
	return true;
}

static void fill_context(struct kernel_ucontext *context, const struct user_regs_struct *regs)
{
	const uint64_t general[NR_GENERAL] = {
		regs->r8,  regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13,
		regs->r14, regs->r15, regs->rdi, regs->rsi, regs->rbp, regs->rbx,
		regs->rdx, regs->rax, regs->rcx, regs->rsp, regs->rip, regs->eflags,
	};

	memcpy(context->mcontext.general, general, sizeof(general));
	context->mcontext.cs = (uint16_t)regs->cs;
	context->mcontext.ss = (uint16_t)regs->ss;
}

bool remote_frame_make(struct remote_frame *frame, pid_t tid, const struct user_regs_struct *regs,
		       uint64_t mask, uint64_t restore)
{
	struct frame head = {.restorer = restore};
	cleanup_free struct saved_fp *fp = xcalloc(1, sizeof(*fp));
	uint64_t fp_at;

	if (!read_fp(tid, fp))
		return false;
	fp_at = (regs->rsp - MACHINE_RED_ZONE_BYTES - fp->nr_bytes) & ~UINT64_C(63);
	fill_context(&head.context, regs);
	head.context.flags = FLAGS_OF_FRAME | (fp->nr_bytes > FXSAVE_BYTES ? UC_FP_XSTATE : 0);
	head.context.stack.flags = SS_FLAGS_OF_NO_STACK;
	head.context.mcontext.fpstate = fp_at;
	head.context.sigmask = mask;
	*frame = (struct remote_frame){.restore = restore,
				       .at = ((fp_at - sizeof(head)) & ~UINT64_C(15)) - 8,
				       .mark_at = offsetof(struct frame, mark),
				       .text_at = offsetof(struct frame, text)};
	frame->nr_bytes = fp_at + fp->nr_bytes - frame->at;
	frame->bytes = xcalloc(frame->nr_bytes, 1);
	memcpy(frame->bytes, &head, sizeof(head));
	memcpy(frame->bytes + (fp_at - frame->at), fp->bytes, fp->nr_bytes);
	return true;
}

const size_t remote_passed_bytes = offsetof(struct frame, info);

void remote_passed_put(uint8_t *bytes, const struct remote_frame *last,
		       const struct user_regs_struct *regs, uint64_t mask)
{
	struct frame passed;

	memcpy(&passed, last->bytes, offsetof(struct frame, info));
	fill_context(&passed.context, regs);
	passed.context.sigmask = mask;
	memcpy(bytes, &passed, offsetof(struct frame, info));
}

void remote_go_to_call(struct user_regs_struct *regs, uint64_t call,
		       const struct remote_frame *frame)
{
	regs->rip = call;
	regs->rsp = frame->at;
	regs->orig_rax = (unsigned long long)-1;
}

void remote_go_to_restore(struct user_regs_struct *regs, const struct remote_frame *frame)
{
	regs->rip = frame->restore;
	regs->rsp = frame->at + sizeof(uint64_t);
	regs->orig_rax = (unsigned long long)-1;
}

void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6])
{
	regs->rax = (unsigned long long)nr;
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

int64_t remote_result(const struct user_regs_struct *regs)
{
	return (int64_t)regs->rax;
}

/* The kernel sees by the registers that it is to do so. */
void remote_continue_call(struct user_regs_struct *regs, const struct proc_syscall *before)
{
	(void)regs;
	(void)before;
}

bool remote_runs_our_kind(const struct user_regs_struct *regs)
{
	return regs->cs == USER_CS;
}

bool remote_is_frame_begin(uint64_t flags)
{
	return (flags & ~UC_FP_XSTATE) == FLAGS_OF_FRAME;
}

#endif
