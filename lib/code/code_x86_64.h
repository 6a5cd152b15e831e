/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder of x86-64 instructions, for unwinding and for probes. */
#ifndef PROFC_CODE_CODE_X86_64_H
#define PROFC_CODE_CODE_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No instruction is longer (Intel SDM vol. 2, 2.3.11). */
#define CODE_INSTRUCTION_MAX_BYTES 15

/* The effect of an instruction on the stack pointer, the frame pointer and the flow of control. */
enum code_effect {
	CODE_EFFECT_NONE,      /* to none of them */
	CODE_EFFECT_PUSH,      /* rsp -= 8 */
	CODE_EFFECT_PUSH_RBP,  /* [rsp -= 8] = rbp */
	CODE_EFFECT_STORE_RBP, /* [rsp + value] = rbp */
	CODE_EFFECT_PUSH_GOT,  /* push of a word at rip + something, as a PLT's first entry does */
	CODE_EFFECT_POP,       /* rsp += 8 */
	CODE_EFFECT_POP_RBP,   /* rbp = [rsp], rsp += 8 */
	CODE_EFFECT_ADD_RSP,   /* rsp += value */
	CODE_EFFECT_RSP_FROM_RBP, /* rsp = rbp + value */
	CODE_EFFECT_LEAVE,	  /* rsp = rbp, then pop rbp */
	CODE_EFFECT_LOAD_RBP,	  /* rbp = [rsp + value] */
	CODE_EFFECT_RBP_FROM_RSP, /* rbp = rsp + value */
	CODE_EFFECT_COPY_RSP,	  /* reg = rsp + value */
	CODE_EFFECT_RSP_FROM_REG, /* rsp = reg + value, which a copy of rsp may be */
	CODE_EFFECT_MOVE_RSP,	  /* rsp = a value that is not tracked, on the same stack */
	CODE_EFFECT_LOAD_RSP,	  /* rsp = a value that may be on any stack */
	CODE_EFFECT_LOSE_RBP,	  /* rbp = something else */
	CODE_EFFECT_RETURN,
	CODE_EFFECT_JUMP,     /* to `target` */
	CODE_EFFECT_BRANCH,   /* to `target`, or to the next instruction */
	CODE_EFFECT_JUMP_GOT, /* through a word at rip + something: to another function */
	CODE_EFFECT_CALL,
	CODE_EFFECT_HALT, /* hlt, ud2: control ends */
	CODE_EFFECT_STOP, /* control goes to an unknown place */
};

/* The flow of control after an instruction. */
enum code_flow {
	CODE_FLOW_ON,	      /* to the next one */
	CODE_FLOW_CALLS,      /* elsewhere, and to the next one if the callee returns */
	CODE_FLOW_MAY_BRANCH, /* to the next one, or elsewhere */
	CODE_FLOW_LEAVES,     /* elsewhere, or nowhere */
};

enum code_flow code_flow(enum code_effect effect);

struct code_instruction {
	enum code_effect effect;
	size_t nr_bytes;
	int64_t value;
	uint64_t target; /* address; 0 for a CALL that is not direct */
	uint8_t reg;	 /* of COPY_RSP and RSP_FROM_REG, as instructions number them */
	/* bit n: general register n is written; needed for those without an effect */
	uint16_t written;
	bool is_load;	   /* RSP_FROM_REG: by a move, not by address arithmetic */
	uint16_t restored; /* bit n: general register n, loaded from this stack */
	bool is_padding;   /* a no-op of several bytes */
	uint8_t opcode_at; /* offset of the first byte after the prefixes */
	/* Offset of the 32-bit displacement of an operand that is relative to rip; 0: there is
	 * none. */
	uint8_t disp_at;
	uint64_t operand; /* with disp_at: the operand's address, for a CALL that of a word */
};

/* Decode the instruction at `address`; false if it is unknown. */
bool code_decode(const uint8_t *bytes, size_t nr_bytes, uint64_t address,
		 struct code_instruction *instruction);

#endif
