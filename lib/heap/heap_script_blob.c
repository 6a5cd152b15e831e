// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blob follows the frames of an interpreter. While a thread runs in the interpreter no other
 * one frees its state, or the newest piece of its data stack, so these are there. Other words may
 * be anything: this may be a signal handler that has come while the thread was changing them, and
 * programs write over their own frames. Where they lead out of that piece and of the native stack,
 * only memory is read that profc has seen there.
 */
#include "heap/heap_script_blob.h"
#include "heap/heap_blob_priv.h"
#include "heap/heap_follow_blob.h"

#define STACK_PIECE_MAX	  (UINT64_C(1) << 20)
#define STACK_PIECE_WORDS 3
#define STATE_MAX	  4096
#define FRAMES_MAX	  1024

/* glibc: the entries of the table of blocks, HEAP_TABLE_AT in the data; those of keys. */
#define TABLE_ENTRY	16
#define TABLE_NO_BLOCK	UINT64_MAX
#define KEYS_OF_PAGE	32
#define KEYS_MAX	1024
#define KEY_ENTRY	16
#define KEY_ENTRY_VALUE 8

/* --- the state of the thread --- */

static uint64_t of_module(const struct frame_links *links, uint64_t data)
{
	uint64_t table = word_at(data + HEAP_TABLE_AT), block;

	if (!table || links->root_of > word_at(table - TABLE_ENTRY))
		return 0;
	block = word_at(table + links->root_of * TABLE_ENTRY);
	return !block || block == TABLE_NO_BLOCK ? 0 : word_at(block + links->root_at);
}

static uint64_t of_key(const struct frame_links *links, uint64_t data)
{
	uint64_t key = relaxed_load((const uint32_t *)links->root_of), page;

	if (key >= KEYS_MAX)
		return 0;
	page = word_at(data + links->root_at + key / KEYS_OF_PAGE * sizeof(uint64_t));
	return page ? word_at(page + key % KEYS_OF_PAGE * KEY_ENTRY + KEY_ENTRY_VALUE) : 0;
}

/* 0: it does not run in the interpreter. */
static uint64_t find_state(const struct frame_links *links, uint64_t data)
{
	uint32_t root = __atomic_load_n(&links->root, __ATOMIC_ACQUIRE);
	uint64_t state = 0;

	if (root == FRAME_LINKS_BY_OFFSET)
		state = word_at(data + links->root_at);
	else if (root == FRAME_LINKS_BY_MODULE)
		state = of_module(links, data);
	else if (root == FRAME_LINKS_BY_KEY)
		state = of_key(links, data);
	else if (root == FRAME_LINKS_OF_MAIN && data == relaxed_load(&heap_known()->main_data))
		state = links->root_at;
	if (state % sizeof(uint64_t) || (links->current && word_at(links->current) != state))
		return 0;
	return state;
}

static bool is_between(uint64_t at, uint64_t nr_bytes, uint64_t start, uint64_t end)
{
	return at >= start && at < end && end - at >= nr_bytes;
}

/* 0: there is none. */
static uint64_t first_frame(const struct heap_follow *walk)
{
	const struct frame_links *links = walk->links;
	uint64_t at = word_at(walk->state + links->state_frame);

	if (!links->has_evaluations)
		return at;
	if (at != walk->state + links->root_evaluation &&
	    !is_between(at, links->evaluation_frame + sizeof(uint64_t), walk->sp, walk->stack_end))
		return 0;
	return at % sizeof(uint64_t) ? 0 : word_at(at + links->evaluation_frame);
}

/* --- pieces --- */

/*
 * Both words of the newest piece are set together where profc has seen it done; where they are
 * not, it is looked for like older ones.
 */
static bool is_certain_piece(const struct heap_follow *walk)
{
	return !walk->nr_used && walk->links->root != FRAME_LINKS_OF_MAIN;
}

/* False: it is being changed, or is not where profc has seen memory. */
static bool add_used(struct heap_follow *walk, uint64_t start, uint64_t end)
{
	if (start % sizeof(uint64_t) || end < start + STACK_PIECE_WORDS * sizeof(uint64_t) ||
	    end - start > STACK_PIECE_MAX ||
	    (!is_certain_piece(walk) && !heap_can_read(walk, start, end - start)))
		return false;
	walk->used[walk->nr_used].start = start;
	walk->used[walk->nr_used++].end = end;
	heap_add_piece(walk, start, (end - start) & -(uint64_t)sizeof(uint64_t));
	return true;
}

/* While the thread evaluates nothing, its data stack may have been freed: PHP does that. */
static void find_data_stack(struct heap_follow *walk)
{
	const struct frame_links *links = walk->links;
	uint64_t at = word_at(walk->state + links->state_piece);
	uint64_t end = word_at(walk->state + links->state_top);

	if (links->state_piece == links->state_top || !first_frame(walk))
		return;
	while (at && walk->nr_used < STACK_PIECES && add_used(walk, at, end)) {
		at = word_at(at + links->piece.previous);
		if (!at || !heap_can_read(walk, at, STACK_PIECE_WORDS * sizeof(uint64_t)))
			return;
		end = word_at(at + links->piece.used);
		if (!links->piece.used_is_end)
			end = at + (end + STACK_PIECE_WORDS) * sizeof(uint64_t);
	}
}

/* --- frames --- */

static bool is_on_data_stack(const struct heap_follow *walk, uint64_t frame)
{
	for (uint64_t i = 0; i < walk->nr_used; i++) {
		if (is_between(frame, walk->links->nr_frame_bytes, walk->used[i].start,
			       walk->used[i].end))
			return true;
	}
	return false;
}

/* How much of a text is to be copied; 0: it is not where profc has seen memory. */
static uint64_t text_bytes(struct heap_follow *walk, uint64_t text)
{
	const struct frame_links *links = walk->links;
	uint64_t nr = links->text.nr_bytes, length;

	if (!heap_can_read(walk, text, links->text.head))
		return 0;
	length = word_at(text + links->text.length);
	if (length < nr && links->text.head + length * links->text.character < nr)
		nr = links->text.head + length * links->text.character;
	if (walk->writable.end - text < nr)
		nr = walk->writable.end - text;
	return nr & -(uint64_t)sizeof(uint64_t);
}

static void copy_function(struct heap_follow *walk, uint64_t of)
{
	const struct frame_links *links = walk->links;

	if (walk->nr_frames >= links->nr_functions || heap_has_piece(walk->pieces, of) ||
	    !heap_can_read(walk, of, links->nr_function_bytes))
		return;
	heap_add_piece(walk, of, links->nr_function_bytes);
	for (int i = 0; links->text.nr_bytes && i < 3; i++) {
		uint64_t text = word_at(of + links->function_is[i]);
		uint64_t nr_bytes = heap_has_piece(walk->pieces, text) ? 0 : text_bytes(walk, text);

		if (nr_bytes)
			heap_add_piece(walk, text, nr_bytes);
	}
}

/* Add the length and the first characters of a text: few texts in one place share both. */
static uint64_t sign_text(struct heap_follow *walk, uint64_t text, uint64_t sum)
{
	const struct frame_links *links = walk->links;

	if (!heap_can_read(walk, text, links->text.head + sizeof(uint64_t))) {
		walk->is_certain = false;
		return sum;
	}
	sum = heap_hash(sum ^ word_at(text + links->text.length));
	for (uint64_t at = links->text.head - 3 * sizeof(uint64_t); at <= links->text.head;
	     at += sizeof(uint64_t))
		sum = heap_hash(sum ^ word_at(text + at));
	return sum;
}

static void sign_frame(struct heap_follow *walk, uint64_t frame, uint64_t of)
{
	const struct frame_links *links = walk->links;
	uint64_t sum = heap_hash(walk->signature ^ of) + word_at(frame + links->frame_instruction);

	if (!heap_can_read(walk, of, links->nr_function_bytes)) {
		walk->is_certain = false;
		return;
	}
	for (int i = 0; i < 3; i++) {
		uint64_t word = word_at(of + links->function_is[i]);

		sum = heap_hash(sum ^ word);
		if (links->text.nr_bytes)
			sum = sign_text(walk, word, sum);
	}
	walk->signature = sum;
}

/* A frame in an object of its own. False: it is not where profc has seen memory. */
static bool take_object(struct heap_follow *walk, uint64_t frame)
{
	const struct frame_links *links = walk->links;
	uint64_t start = frame - links->nr_before_frame;
	uint64_t nr_bytes = links->nr_before_frame + links->nr_frame_bytes;
	uint64_t owner;

	if (!heap_can_read(walk, start, nr_bytes))
		return false;
	heap_add_piece(walk, start, nr_bytes);
	owner = links->nr_owner_bytes ? word_at(frame + links->frame_owner) : 0;
	if (owner && walk->pieces && heap_can_read(walk, owner, links->nr_owner_bytes))
		heap_add_piece(walk, owner, links->nr_owner_bytes);
	return true;
}

/* False: the frames further out cannot be found. */
static bool take_frame(struct heap_follow *walk, uint64_t frame)
{
	uint64_t of;

	if (is_between(frame, walk->links->nr_frame_bytes, walk->sp, walk->stack_end))
		return true;
	if (!is_on_data_stack(walk, frame) && !take_object(walk, frame))
		return false;
	of = word_at(frame + walk->links->frame_function);
	if (!of)
		return true; /* a mark */
	if (walk->pieces)
		copy_function(walk, of);
	else
		sign_frame(walk, frame, of);
	return true;
}

static void follow(struct heap_follow *walk)
{
	uint64_t frame = first_frame(walk);

	for (; frame && walk->nr_frames < FRAMES_MAX; walk->nr_frames++) {
		if (frame % sizeof(uint64_t) || !take_frame(walk, frame)) {
			walk->is_certain = false;
			return;
		}
		frame = word_at(frame + walk->links->frame_previous);
	}
}

/* The proof that the state is the thread's: the value of its key, as perl_walk.c reads it. */
static void add_key(struct heap_follow *walk, uint64_t data)
{
	const struct frame_links *links = walk->links;
	uint64_t key = relaxed_load((const uint32_t *)links->root_of);
	uint64_t entry = data + links->root_at + key / KEYS_OF_PAGE * sizeof(uint64_t);
	uint64_t page = word_at(entry), first = entry - (uint64_t)KEYS_OF_PAGE * KEY_ENTRY;

	heap_add_piece(walk, first, entry + sizeof(uint64_t) - first);
	if (page != first)
		heap_add_piece(walk, page + key % KEYS_OF_PAGE * KEY_ENTRY + KEY_ENTRY_VALUE,
			       sizeof(uint64_t));
}

/* Another thread's key may have this number, or its interpreter may be gone. */
static bool is_state(struct heap_follow *walk)
{
	const struct frame_links *links = walk->links;

	return !links->contexts.nr_bytes ||
	       (heap_can_read(walk, walk->state, links->nr_state_bytes) &&
		word_at(walk->state + links->contexts.state_mark) == links->contexts.mark);
}

/* False: the thread does not run in an interpreter. */
static bool begin(struct heap_follow *walk, const struct heap_frame *frame,
		  struct heap_pieces *pieces)
{
	const struct frame_links *links = &heap_known()->links;
	uint64_t data, start;

	if (!relaxed_load(&links->root))
		return false;
	data = thread_data();
	walk->state = data ? find_state(links, data) : 0;
	if (!walk->state || links->nr_state_bytes > STATE_MAX)
		return false;
	walk->links = links;
	walk->sp = (uint64_t)(frame + 1);
	walk->stack_end = heap_readable_end(walk->sp, &start);
	walk->writable.start = walk->writable.end = 0;
	walk->pieces = pieces;
	walk->nr_used = walk->nr_frames = walk->signature = 0;
	walk->is_certain = true;
	if (!is_state(walk))
		return false;
	heap_add_piece(walk, walk->state, links->nr_state_bytes);
	if (!links->contexts.nr_bytes)
		find_data_stack(walk);
	else if (links->root == FRAME_LINKS_BY_KEY)
		add_key(walk, data);
	return true;
}

static void follow_any(struct heap_follow *walk, uint64_t gone)
{
	walk->gone = gone;
	if (walk->links->contexts.nr_bytes)
		heap_follow_contexts(walk);
	else
		follow(walk);
}

void heap_find_pieces(struct heap_pieces *pieces, const struct heap_frame *frame, uint64_t gone)
{
	struct heap_follow walk;

	pieces->nr = pieces->nr_bytes = 0;
	if (begin(&walk, frame, pieces))
		follow_any(&walk, gone);
}

void heap_write_pieces(const struct heap_pieces *pieces, uint64_t *to)
{
	for (uint64_t i = 0; i < pieces->nr; i++) {
		*to++ = pieces->at[i].start;
		*to++ = pieces->at[i].nr_bytes;
		machine_copy(to, (const void *)pieces->at[i].start, pieces->at[i].nr_bytes);
		to += pieces->at[i].nr_bytes / sizeof(uint64_t);
	}
}

uint64_t heap_sign_frames(const struct heap_frame *frame, uint64_t signature, uint64_t gone)
{
	struct heap_follow walk;

	if (!signature || !begin(&walk, frame, 0))
		return signature;
	walk.signature = signature;
	follow_any(&walk, gone);
	return walk.is_certain ? walk.signature : 0;
}
