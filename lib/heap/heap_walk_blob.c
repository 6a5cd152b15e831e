// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blob signs a stack, and says whether a stack with that signature was copied before. Five
 * caches help:
 *
 *	recent		of a thread, by stack pointer and two return addresses:
 *			stacks, with all words that a walk would read. If these are
 *			unchanged, nothing is walked.
 *	last_walk	of a thread: the frames of the last stack that was walked. A
 *			walk ends at the first frame that it finds unchanged there.
 *	steps		of the process, by return address: from a frame to its
 *			caller's. profc writes it; without a step there is no walk.
 *	memo		of a thread, by the last bits: signatures that were found in
 *			`published`. A stack in `recent` has a flag instead.
 *	published	of the process: signatures of all stacks that were copied.
 *			Such stacks are not copied again.
 *
 * heap_sign() asks `recent`, then `last_walk` and `steps`; heap_is_published() asks `memo`, then
 * `published`; heap_sign_again() asks `recent`. Only a thread itself writes to its caches, and
 * nothing is ever taken out of those of the process: so no lock is needed.
 */
#include <stddef.h>

#include "heap/heap_walk_blob.h"

#define PAGE_BYTES     UINT64_C(4096)
#define DEPTH_MAX      4096
#define WALK_BYTES_MAX (UINT64_C(8) << 20)
/* Signatures are polynomials in this: a frame's follows from its caller's. */
#define BASE UINT64_C(0xd1342543de82ef95)

static __attribute__((noinline)) bool find_readable(struct heap_thread *thread, uint64_t from,
						    uint64_t end)
{
	uint64_t readable;
	uint64_t readable_end = heap_readable_end(from, &readable);

	if (thread && readable < from) { /* it is the thread's own stack, with known bounds */
		thread->readable = readable;
		thread->readable_end = readable_end;
	}
	return end <= readable_end;
}

/* A step may be wrong if other code is there by now: it must not lead to a fault. */
static inline bool are_readable(struct heap_thread *thread, uint64_t from, uint64_t end)
{
	return (thread && from >= thread->readable && end <= thread->readable_end) ||
	       find_readable(thread, from, end);
}

typedef uint64_t __attribute__((may_alias)) word_of_any;

/* A consistent copy of a step. */
struct step {
	int64_t cfa_offset, fp_offset;
	uint32_t flags;
};

_Static_assert(sizeof(struct heap_step) == 16 && offsetof(struct heap_step, cfa_offset) == 8 &&
		       offsetof(struct heap_step, fp_offset) == 12 &&
		       offsetof(struct heap_step, flags) == 14,
	       "find_step()");

/* False: no step is known for that address. */
static inline bool find_step(uint64_t pc, struct step *found)
{
	const struct heap_step *steps = heap_all()->steps;
	uint64_t first = heap_hash(pc) >> 32;

	for (uint64_t i = 0; i < HEAP_PROBES; i++) {
		const struct heap_step *step = &steps[(first + i) % HEAP_STEPS];
		uint64_t word;

		if (__atomic_load_n(&step->pc, __ATOMIC_ACQUIRE) != pc)
			continue;
		word = relaxed_load((const word_of_any *)(const void *)&step->cfa_offset);
		*found = (struct step){.cfa_offset = (int32_t)word,
				       .fp_offset = (int16_t)(word >> 32),
				       .flags = (uint32_t)(word >> 48)};
		return true;
	}
	return false;
}

struct walk {
	struct heap_thread *thread;
	struct heap_walk *kept; /* of the thread; or NULL */
	uint64_t first_sp, pc, sp, fp;
	uint64_t fp_at; /* where the last step read fp; 0: it did not */
	bool has_fp;
};

static inline bool go_to_caller(struct walk *walk, const struct step *step)
{
	uint64_t from = step->flags & HEAP_STEP_BY_FP ? walk->fp : walk->sp;
	uint64_t cfa = from + (uint64_t)step->cfa_offset;
	uint64_t saved = cfa + (uint64_t)step->fp_offset;

	if ((step->flags & HEAP_STEP_BY_FP && !walk->has_fp) || cfa <= walk->sp || cfa % 8 ||
	    cfa - walk->first_sp > WALK_BYTES_MAX ||
	    !are_readable(walk->thread, walk->first_sp, cfa))
		return false;
	walk->fp_at = 0;
	walk->has_fp &= !(step->flags & HEAP_STEP_FP_LOST);
	if (step->flags & HEAP_STEP_FP_SAVED) {
		if (saved < walk->first_sp || saved > cfa - 8)
			return false;
		walk->fp = *(const uint64_t *)saved;
		walk->fp_at = saved;
		walk->has_fp = true;
	}
	walk->pc = machine_plain(*(const uint64_t *)(cfa - 8));
	walk->sp = cfa;
	return true;
}

/*
 * If last_walk[at] is unchanged: 1 + the index of the next frame towards the outermost one that has
 * changed; 0: none has.
 */
static uint64_t nr_changed(const struct heap_walk *kept, uint64_t at)
{
	while (at-- > 0) {
		const struct heap_walked *frame = &kept->last_walk[at];

		if (machine_plain(*(const uint64_t *)(frame->sp - 8)) != frame->pc ||
		    (frame->uses_fp && frame->fp_at &&
		     *(const uint64_t *)frame->fp_at != frame->fp))
			return at + 1;
	}
	return 0;
}

static bool is_as_it_was(const struct walk *walk, const struct heap_walked *frame)
{
	return frame->sp == walk->sp && frame->pc == walk->pc &&
	       (!frame->uses_fp || (walk->has_fp && frame->fp == walk->fp));
}

/*
 * Has the last walk come through this frame, and are all frames from here outward unchanged? *nr is
 * the number of its frames, from the outermost on, that may be unchanged.
 */
static bool find_in_last_walk(const struct walk *walk, uint64_t *nr)
{
	const struct heap_walk *kept = walk->kept;
	uint64_t changed;

	while (*nr && kept->last_walk[*nr - 1].sp < walk->sp)
		--*nr;
	if (!*nr || !is_as_it_was(walk, &kept->last_walk[*nr - 1]) ||
	    kept->last_walk[0].sp - walk->first_sp > WALK_BYTES_MAX ||
	    !are_readable(walk->thread, walk->first_sp, kept->last_walk[0].sp))
		return false;
	changed = nr_changed(kept, *nr - 1);
	if (!changed)
		return true;
	*nr = changed - 1;
	return false;
}

/* Puts the new frames, innermost first in `next`, on top of `nr` unchanged ones. */
static uint64_t keep_walked(struct heap_walk *kept, uint64_t nr, uint64_t nr_next)
{
	uint64_t signature = nr ? kept->last_walk[nr - 1].signature : 0;
	uint64_t uses_fp = nr ? kept->last_walk[nr - 1].uses_fp : 0;

	for (uint64_t i = nr_next; i > 0; i--) {
		struct heap_walked *frame = &kept->last_walk[nr];
		uint64_t flags;

		frame->sp = kept->next[i - 1].sp;
		frame->pc = kept->next[i - 1].pc;
		frame->fp = kept->next[i - 1].fp;
		frame->fp_at = kept->next[i - 1].fp_at;
		signature = signature * BASE + heap_hash(frame->pc);
		/* So far `uses_fp` has the flags of the frame's own step. */
		flags = kept->next[i - 1].uses_fp;
		uses_fp = (flags & HEAP_STEP_BY_FP) ||
			  (!(flags & (HEAP_STEP_FP_SAVED | HEAP_STEP_FP_LOST)) && uses_fp);
		frame->signature = signature;
		frame->uses_fp = uses_fp;
		nr++;
	}
	kept->nr_last = nr;
	return signature;
}

static inline struct heap_walk *walk_of(const struct heap_thread *thread)
{
	return thread && thread->walk ? &heap_own()->walks[thread->walk - 1] : 0;
}

static struct walk begin(const struct heap_frame *frame, struct heap_thread *thread)
{
	uint64_t sp = (uint64_t)(frame + 1);

	return (struct walk){.thread = thread,
			     .kept = walk_of(thread),
			     .first_sp = sp,
			     .pc = frame->pc,
			     .sp = sp,
			     .fp = frame->fp,
			     .has_fp = true};
}

/* Without the last walk: for stacks of any depth, and in any state. */
static uint64_t sign_anew(const struct heap_frame *frame, struct heap_thread *thread)
{
	struct walk walk = begin(frame, thread);
	uint64_t signature = 0, power = 1;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		struct step step;

		if (!find_step(walk.pc, &step))
			return 0;
		signature += heap_hash(walk.pc) * power;
		power *= BASE;
		if (step.flags & HEAP_STEP_ROOT)
			return signature;
		if (!go_to_caller(&walk, &step))
			return 0;
	}
	return 0;
}

static uint64_t sign_next(const struct heap_frame *frame, struct heap_thread *thread)
{
	struct walk walk = begin(frame, thread);
	struct heap_walk *kept = walk.kept = &heap_own()->walks[thread->walk - 1];
	uint64_t nr = kept->nr_last, nr_next = 0;

	while (!find_in_last_walk(&walk, &nr)) {
		struct heap_walked *next;
		struct step step;

		if (nr_next == HEAP_FRAMES || !find_step(walk.pc, &step))
			return 0;
		next = &kept->next[nr_next++]; /* one by one: to clear all of it takes longer */
		next->sp = walk.sp;
		next->pc = walk.pc;
		next->fp = walk.fp;
		next->fp_at = walk.fp_at;
		next->uses_fp = step.flags;
		if (step.flags & HEAP_STEP_ROOT) {
			nr = 0;
			break;
		}
		if (!go_to_caller(&walk, &step))
			return 0;
	}
	if (nr + nr_next > HEAP_FRAMES)
		return 0;
	return keep_walked(kept, nr, nr_next);
}

/*
 * By the stack pointer and two return addresses: all allocations of operator new have the same
 * first one.
 */
static inline uint64_t place_of(const struct heap_frame *frame, struct heap_thread *thread)
{
	uint64_t sp = (uint64_t)(frame + 1);
	uint64_t cfa, caller = 0;
	struct step step;

	if (find_step(frame->pc, &step) && !(step.flags & (HEAP_STEP_BY_FP | HEAP_STEP_ROOT))) {
		cfa = sp + (uint64_t)step.cfa_offset;
		if (cfa > sp && cfa - sp < PAGE_BYTES && cfa % 8 == 0 &&
		    are_readable(thread, sp, cfa))
			caller = *(const uint64_t *)(cfa - 8);
	}
	return (sp ^ frame->pc << 8 ^ caller << 20) * BASE >> (64 - HEAP_RECENT_LOG2);
}

static inline bool is_recent_again(const struct heap_recent *recent, const struct heap_frame *frame,
				   struct heap_thread *thread)
{
	uint64_t sp = (uint64_t)(frame + 1);
	const struct heap_word *word = recent->words;
	const struct heap_word *end = word + recent->nr_words;

	if (recent->pc != frame->pc || recent->sp != sp || !recent->signature ||
	    (recent->uses_fp && recent->fp != frame->fp) || !are_readable(thread, sp, recent->end))
		return false;
	for (; word < end; word++) {
		if (*(const uint64_t *)word->at != word->is)
			return false;
	}
	return true;
}

static bool add_word(struct heap_recent *recent, uint64_t at, uint64_t is)
{
	if (recent->nr_words == HEAP_RECENT_WORDS)
		return false;
	recent->words[recent->nr_words++] = (struct heap_word){at, is};
	return true;
}

/*
 * Keeps the last walk's words, unless they are too many: for deep stacks `last_walk` does most.
 * Where no outer frame uses fp, rbp is an ordinary register there; its value does not matter.
 */
static void keep_recent(struct heap_recent *recent, const struct heap_walk *kept,
			const struct heap_frame *frame)
{
	const struct heap_walked *innermost = &kept->last_walk[kept->nr_last - 1];

	recent->signature = 0;
	recent->nr_words = 0;
	for (const struct heap_walked *walked = innermost; walked-- > kept->last_walk;) {
		uint64_t at = walked->sp - 8;

		if (!add_word(recent, at, *(const uint64_t *)at) ||
		    (walked->uses_fp && walked->fp_at &&
		     !add_word(recent, walked->fp_at, walked->fp)))
			return;
	}
	recent->sp = innermost->sp;
	recent->pc = innermost->pc;
	recent->fp = frame->fp;
	recent->uses_fp = innermost->uses_fp != 0;
	recent->end = kept->last_walk[0].sp;
	recent->is_published = 0;
	recent->signature = innermost->signature;
}

static uint64_t sign_recent(const struct heap_frame *frame, struct heap_thread *thread)
{
	struct heap_walk *kept = &heap_own()->walks[thread->walk - 1];
	uint64_t place = place_of(frame, thread);
	struct heap_recent *recent = &kept->recent[place];
	uint64_t signature;

	kept->last_recent = place;
	if (is_recent_again(recent, frame, thread))
		return recent->signature;
	signature = sign_next(frame, thread);
	if (signature)
		keep_recent(recent, kept, frame);
	return signature;
}

uint64_t heap_sign(const struct heap_frame *frame, struct heap_thread *thread)
{
	uint64_t signature = 0;

	/* Without a thread, or in a signal handler that interrupted a walk. */
	if (!thread || relaxed_load(&thread->is_walking))
		return sign_anew(frame, 0);
	if (!thread->walk)
		return sign_anew(frame, thread);
	relaxed_store(&thread->is_walking, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	signature = sign_recent(frame, thread);
	if (!signature)
		signature = sign_anew(frame, thread);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	relaxed_store(&thread->is_walking, 0);
	return signature;
}

static inline bool is_copied_again(const struct heap_recent *recent, const struct heap_frame *frame,
				   struct heap_thread *thread)
{
	return recent->is_published && is_recent_again(recent, frame, thread);
}

/* The last one is often the same, and found without a step. */
static inline uint64_t find_copied_again(struct heap_walk *kept, const struct heap_frame *frame,
					 struct heap_thread *thread)
{
	const struct heap_recent *recent = &kept->recent[kept->last_recent];

	if (is_copied_again(recent, frame, thread))
		return recent->signature;
	kept->last_recent = place_of(frame, thread);
	recent = &kept->recent[kept->last_recent];
	return is_copied_again(recent, frame, thread) ? recent->signature : 0;
}

uint64_t heap_sign_again(const struct heap_frame *frame, struct heap_thread *thread)
{
	uint64_t signature;

	if (!thread->walk || relaxed_load(&thread->is_walking))
		return 0;
	relaxed_store(&thread->is_walking, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	signature = find_copied_again(&heap_own()->walks[thread->walk - 1], frame, thread);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	relaxed_store(&thread->is_walking, 0);
	return signature;
}

static bool is_code(uint64_t word, uint32_t nr_code)
{
	const struct heap_all *all = heap_all();

	for (uint32_t i = 0; i < nr_code; i++) {
		uint64_t start = relaxed_load(&all->code[i].start);

		if (word - start < relaxed_load(&all->code[i].end) - start)
			return true;
	}
	return false;
}

/*
 * Stacks with the same result are walked alike: each return address and each frame pointer is in
 * the same place. Words left over from earlier calls make some stacks differ that are walked alike,
 * which matters little.
 */
uint64_t heap_sign_words(const struct heap_frame *frame, struct heap_thread *thread,
			 uint64_t nr_bytes)
{
	const uint64_t *words = (const uint64_t *)(frame + 1);
	uint64_t sp = (uint64_t)words;
	uint32_t nr_code = relaxed_load(&heap_all()->nr_code);
	uint64_t signature = heap_hash(heap_hash(sp ^ nr_bytes) ^ frame->pc);

	if (!nr_code || nr_code > HEAP_CODE || !nr_bytes ||
	    !are_readable(thread, sp, sp + nr_bytes))
		return 0;
	if (frame->fp - sp < WALK_BYTES_MAX)
		signature = heap_hash(signature ^ frame->fp);
	for (uint64_t i = 0; i < nr_bytes / sizeof(*words); i++) {
		uint64_t word = machine_plain(words[i]);

		if (word - sp < WALK_BYTES_MAX || is_code(word, nr_code))
			signature = heap_hash(heap_hash(signature ^ word) ^ i);
	}
	return signature;
}

static bool is_in_published(uint64_t signature)
{
	const uint64_t *published = heap_all()->published;
	uint64_t first = signature >> 32;

	for (uint64_t i = 0; i < HEAP_PROBES; i++) {
		if (__atomic_load_n(&published[(first + i) % HEAP_PUBLISHED], __ATOMIC_ACQUIRE) ==
		    signature)
			return true;
	}
	return false;
}

bool heap_is_published(uint64_t signature, struct heap_thread *thread)
{
	struct heap_walk *kept = walk_of(thread);
	struct heap_recent *recent = kept ? &kept->recent[kept->last_recent] : 0;
	bool is_recent = recent && recent->signature == signature;

	if ((is_recent && recent->is_published) ||
	    (kept && kept->memo[signature % HEAP_MEMO] == signature))
		return true;
	if (!is_in_published(signature))
		return false;
	if (is_recent)
		recent->is_published = 1;
	else if (kept)
		kept->memo[signature % HEAP_MEMO] = signature;
	return true;
}

/* Stacks that find no room are copied again. */
void heap_publish(uint64_t signature)
{
	uint64_t *published = heap_all()->published;
	uint64_t first = signature >> 32;

	for (uint64_t i = 0; i < HEAP_PROBES; i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&published[(first + i) % HEAP_PUBLISHED], &none,
						signature, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return;
	}
}
