// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/filter_program.h"

#include <string.h>

/* Classic BPF as seccomp has it: Documentation/networking/filter.rst, "BPF engine". */
struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	const struct seccomp_data *call;
	bool is_wrong; /* no program of the kernel's */
};

static uint32_t *memory_at(struct machine *machine, uint32_t k)
{
	machine->is_wrong |= k >= BPF_MEMWORDS;
	return &machine->memory[k % BPF_MEMWORDS];
}

static uint32_t call_word(struct machine *machine, uint32_t offset)
{
	uint32_t word = 0;

	if (offset % sizeof(word) || offset > sizeof(*machine->call) - sizeof(word))
		machine->is_wrong = true;
	else
		memcpy(&word, (const char *)machine->call + offset, sizeof(word));
	return word;
}

static uint32_t loaded(struct machine *machine, const struct sock_filter *step)
{
	switch (BPF_MODE(step->code)) {
	case BPF_IMM:
		return step->k;
	case BPF_ABS:
		return call_word(machine, step->k);
	case BPF_MEM:
		return *memory_at(machine, step->k);
	case BPF_LEN:
		return sizeof(*machine->call);
	default:
		machine->is_wrong = true;
		return 0;
	}
}

static uint32_t operand(const struct machine *machine, const struct sock_filter *step)
{
	return BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
}

static void calculate(struct machine *machine, const struct sock_filter *step)
{
	uint32_t b = operand(machine, step);

	switch (BPF_OP(step->code)) {
	case BPF_ADD:
		machine->a += b;
		break;
	case BPF_SUB:
		machine->a -= b;
		break;
	case BPF_MUL:
		machine->a *= b;
		break;
	case BPF_DIV:
		machine->is_wrong |= !b;
		machine->a = b ? machine->a / b : 0;
		break;
	case BPF_OR:
		machine->a |= b;
		break;
	case BPF_AND:
		machine->a &= b;
		break;
	case BPF_LSH:
		machine->a <<= b & 31;
		break;
	case BPF_RSH:
		machine->a >>= b & 31;
		break;
	case BPF_NEG:
		machine->a = -machine->a;
		break;
	case BPF_XOR:
		machine->a ^= b;
		break;
	default:
		machine->is_wrong = true;
	}
}

/* How many steps are left out; they only ever go on. */
static uint32_t jump(struct machine *machine, const struct sock_filter *step)
{
	uint32_t b = operand(machine, step);

	switch (BPF_OP(step->code)) {
	case BPF_JA:
		return step->k;
	case BPF_JEQ:
		return machine->a == b ? step->jt : step->jf;
	case BPF_JGT:
		return machine->a > b ? step->jt : step->jf;
	case BPF_JGE:
		return machine->a >= b ? step->jt : step->jf;
	case BPF_JSET:
		return machine->a & b ? step->jt : step->jf;
	default:
		machine->is_wrong = true;
		return 0;
	}
}

/* Says how many steps are left out. */
static uint32_t take(struct machine *machine, const struct sock_filter *step)
{
	switch (BPF_CLASS(step->code)) {
	case BPF_LD:
		machine->a = loaded(machine, step);
		return 0;
	case BPF_LDX:
		machine->x = loaded(machine, step);
		return 0;
	case BPF_ST:
		*memory_at(machine, step->k) = machine->a;
		return 0;
	case BPF_STX:
		*memory_at(machine, step->k) = machine->x;
		return 0;
	case BPF_ALU:
		calculate(machine, step);
		return 0;
	case BPF_JMP:
		return jump(machine, step);
	default: /* BPF_MISC */
		if (BPF_MISCOP(step->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return 0;
	}
}

uint32_t filter_program_run(const struct sock_filter *code, size_t nr,
			    const struct seccomp_data *call)
{
	struct machine machine = {.call = call};

	for (uint64_t at = 0; at < nr && !machine.is_wrong; at++) {
		const struct sock_filter *step = &code[at];

		if (BPF_CLASS(step->code) == BPF_RET)
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		at += take(&machine, step);
	}
	return SECCOMP_RET_KILL_PROCESS;
}

bool filter_program_allows(uint32_t result)
{
	uint32_t action = result & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}
