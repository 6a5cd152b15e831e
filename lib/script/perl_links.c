// SPDX-License-Identifier: GPL-2.0-or-later
/* How a thread in the process itself finds the contexts of its interpreter. */
#include "script/perl_links.h"

#include "script/perl.h"
#include "script/perl_contexts.h"
#include "script/perl_layout.h"
#include "script/perl_text.h"
#include "snapshot/frame_links.h"

/* A function has up to eight pieces, of which its callers share some. */
#define FUNCTIONS_COPIED 16

#define TYPE_BIT(type) (UINT32_C(1) << (type))
/* The first 32 bits: the type and its flags, the context that is wanted, the eval's operation. */
#define FIRST_MASK UINT32_C(0xffff00ff)

static struct frame_context_links contexts_of(const struct perl_layout *layout)
{
	const struct perl_context_layout *context = &layout->context;

	return (struct frame_context_links){
		.nr_bytes = context->nr_bytes,
		.type_mask = PERL_CONTEXT_MASK,
		.first_mask = FIRST_MASK,
		.subs = TYPE_BIT(PERL_CONTEXT_SUB),
		.jumps = TYPE_BIT(PERL_CONTEXT_EVAL),
		.others = TYPE_BIT(PERL_CONTEXT_FORMAT) | TYPE_BIT(PERL_CONTEXT_NULL) |
			  TYPE_BIT(PERL_CONTEXT_DEFER),
		.statement = context->statement,
		.next = context->next,
		.sub_index = context->sub_index,
		.sub = context->sub,
		.jump = context->jump,
		.of_stack = {.contexts = layout->stack.contexts,
			     .previous = layout->stack.previous,
			     .index = layout->stack.index,
			     .sub_index = layout->stack.sub_index,
			     .type = layout->stack.type,
			     .nr_bytes = layout->stack.nr_bytes},
		.of_statement = {.kind = layout->statement.operation,
				 .kind_mask = PERL_OPERATION,
				 .line = layout->statement.line,
				 .file = layout->statement.file,
				 .sequence = layout->statement.sequence,
				 .nr_bytes = layout->statement.nr_bytes,
				 .nr_text_bytes = PERL_FILE_BYTES_USUAL},
		.of_sub = {.package = layout->sub.package,
			   .start = layout->sub.start,
			   .root = layout->sub.root,
			   .glob = layout->sub.glob,
			   .flags = layout->sub.flags,
			   .is_named = PERL_SUB_IS_NAMED,
			   .nr_key_bytes = PERL_KEY_BYTES_USUAL,
			   .nr_head_bytes = PERL_HEAD_BYTES,
			   .nr_bytes = layout->sub.nr_bytes,
			   .nr_glob_bytes = layout->sub.glob_bytes},
	};
}

void perl_find_links(const struct perl *perl, uint64_t key_at, struct frame_links *links)
{
	const struct perl_interpreter_layout *interpreter = &perl->layout->interpreter;
	const uint32_t word = sizeof(uint64_t);

	*links = (struct frame_links){
		.root = FRAME_LINKS_BY_KEY,
		.root_at = perl->keys,
		.root_of = key_at,
		.nr_state_bytes = (interpreter->phase + word) / word * word,
		.state_frame = interpreter->stack,
		.nr_functions = FUNCTIONS_COPIED,
		.contexts = contexts_of(perl->layout),
	};
	links->contexts.state_statement = interpreter->statement;
	links->contexts.state_phase = interpreter->phase;
	links->contexts.state_mark = interpreter->runops;
	links->contexts.mark = perl->runops;
}
