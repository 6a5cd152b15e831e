// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the frames of PHP over copied bytes, and proves them. */
#include "script/php.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "script/object_bytes.h"
#include "script/php_registers.h"
#include "script/php_text.h"
#include "snapshot/snapshot.h"

/* More than those of 80 bytes each that the memory for a walk has room for, and generators. */
#define FRAMES_MAX  4096
#define ADDRESS_MAX (UINT64_C(1) << 56)
/* A page has 256 KiB, unless a single frame needs more. */
#define PAGES_MAX	  16
#define PAGE_HEADER_BYTES 32
#define PAGE_BYTES_MAX	  (UINT64_C(64) << 20)
/* The top of the stack moves between samples: these bytes above it are wanted as well. */
#define PAGE_SLACK_BYTES 1024
/* A generator that delegates to a generator that delegates, and so on. */
#define DELEGATES_MAX  64
#define GENERATORS_MAX 1024

/* In the `info` of a frame. */
#define INFO_ENTRY     (UINT32_C(1) << 17)
#define INFO_GENERATOR (UINT32_C(1) << 24)

/* The used part of a page of PHP's stack. */
struct page {
	uint64_t start, end;
};

struct php_walk {
	const struct php *php;
	const struct php_layout *layout;
	const struct snapshot *snapshot;
	const struct php_native *natives;
	size_t nr_natives;
	size_t native; /* the first that may have the next frame */
	struct page pages[PAGES_MAX];
	size_t nr_pages;
	uint64_t nr_used_bytes; /* of all pages */
	uint64_t bottom;	/* where the first frame of the stack is */
	size_t nr_generators;	/* that were read */
	bool has_fiber;
	uint64_t current, before_exception;
	size_t loop;	   /* the native frame of the entry that is walked */
	bool is_rest;	   /* it is the only one that is left, and has to be proved by the next */
	bool has_loop;	   /* it is known */
	bool is_entered;   /* a frame of that entry was taken */
	size_t nr_scripts; /* frames of scripts so far */
	/* The native function that was last called by a script, and by which frame; 0: none was. */
	uint64_t called, caller;
	struct script_walk *out; /* NULL: only what is missing is looked for */
	struct wanted_memory *missing;
	/* Recursion has the same function again and again. */
	uint64_t known;
	uint8_t head[PHP_FUNCTION_BYTES_MAX];
};

struct frame {
	uint64_t at, opline, function, previous;
	uint32_t info;
};

static bool is_address(uint64_t address)
{
	return address && address < ADDRESS_MAX && address % sizeof(uint64_t) == 0;
}

/* Have a range in the next snapshot, or now; the outcome if this one lacks it. */
static enum script_outcome want(struct php_walk *walk, uint64_t start, uint64_t nr_bytes)
{
	struct wanted_memory *wanted = walk->out ? &walk->out->wanted : walk->missing;

	return wanted_memory_add(wanted, start, nr_bytes) ? SCRIPT_NOT_COPIED : SCRIPT_TOO_DEEP;
}

/* Read a range; where it is only what is missing that is looked for, only that is wanted. */
static enum script_outcome take_range(struct php_walk *walk, uint64_t start, void *out,
				      uint64_t nr_bytes)
{
	enum script_outcome outcome = SCRIPT_NOT_COPIED;
	bool is_copied = snapshot_read_any(walk->snapshot, start, out, nr_bytes);

	if (walk->out || !is_copied)
		outcome = want(walk, start, nr_bytes);
	return is_copied ? SCRIPT_PROVED : outcome;
}

/* --- PHP's stack --- */

/* `top` is the end of the used part of the newest page; those of others are in their headers. */
static enum script_outcome add_page(struct php_walk *walk, uint64_t at, uint64_t top,
				    uint64_t *previous)
{
	uint8_t header[PAGE_HEADER_BYTES];
	enum script_outcome outcome = SCRIPT_NOT_COPIED;
	uint64_t end, nr_used, nr_bytes;

	if (!is_address(at))
		return SCRIPT_TORN;
	if (walk->nr_pages == PAGES_MAX)
		return SCRIPT_TOO_DEEP;
	if (!snapshot_read_any(walk->snapshot, at, header, sizeof(header)))
		return want(walk, at,
			    walk->nr_pages || top < at + PAGE_HEADER_BYTES ||
					    top - at > WANTED_BYTES_MAX
				    ? PAGE_HEADER_BYTES
				    : top - at + PAGE_SLACK_BYTES);
	if (walk->nr_pages)
		top = word_at(header, walk->layout->page.top);
	end = word_at(header, walk->layout->page.end);
	*previous = word_at(header, walk->layout->page.previous);
	if (end < at || end - at > PAGE_BYTES_MAX || top < at + PAGE_HEADER_BYTES || top > end ||
	    top % sizeof(uint64_t))
		return SCRIPT_TORN;
	nr_used = top - at;
	/* Else the thread would stay stopped for parts of a stack that can never be copied whole.
	 */
	walk->nr_used_bytes += nr_used;
	if (walk->nr_used_bytes > WANTED_BYTES_MAX)
		return SCRIPT_TOO_DEEP;
	nr_bytes = walk->nr_pages ? nr_used : min_u64(nr_used + PAGE_SLACK_BYTES, end - at);
	if (walk->out)
		outcome = want(walk, at, nr_bytes);
	walk->pages[walk->nr_pages++] = (struct page){.start = at + PAGE_HEADER_BYTES, .end = top};
	walk->bottom = at + PAGE_HEADER_BYTES;
	return outcome == SCRIPT_TOO_DEEP ? outcome : SCRIPT_PROVED;
}

static enum script_outcome find_pages(struct php_walk *walk, uint64_t at, uint64_t top)
{
	enum script_outcome outcome = SCRIPT_PROVED;

	while (at && outcome == SCRIPT_PROVED) {
		uint64_t previous = 0;

		outcome = add_page(walk, at, top, &previous);
		at = previous;
	}
	return outcome;
}

/* NULL: it is not on PHP's stack. */
static const struct page *page_at(const struct php_walk *walk, uint64_t at)
{
	for (size_t i = 0; i < walk->nr_pages; i++) {
		const struct page *page = &walk->pages[i];

		if (at >= page->start && at < page->end)
			return page->end - at >= walk->layout->frame.nr_bytes ? page : NULL;
	}
	return NULL;
}

/* --- frames --- */

static void take(const struct php_walk *walk, uint64_t at, const uint8_t *bytes,
		 struct frame *frame)
{
	const struct php_frame_layout *layout = &walk->layout->frame;

	*frame = (struct frame){.at = at,
				.opline = word_at(bytes, layout->opline),
				.function = word_at(bytes, layout->function),
				.previous = word_at(bytes, layout->previous),
				.info = number_at(bytes, layout->info)};
}

static enum script_outcome read_generator(struct php_walk *walk, uint64_t at, uint8_t *bytes)
{
	enum script_outcome outcome;

	if (walk->nr_generators++ == GENERATORS_MAX)
		return SCRIPT_TOO_DEEP;
	if (!is_address(at))
		return SCRIPT_NOT_GENERATOR;
	outcome = take_range(walk, at, bytes, walk->layout->generator.nr_bytes);
	if (outcome == SCRIPT_PROVED &&
	    word_at(bytes, walk->layout->generator.class_entry) != walk->php->generator_class)
		outcome = SCRIPT_NOT_GENERATOR;
	return outcome;
}

/* The frame of a generator leads to its object, and that leads back. */
static enum script_outcome prove_generator(struct php_walk *walk, uint64_t at, const uint8_t *bytes)
{
	uint8_t object[PHP_GENERATOR_BYTES_MAX];
	enum script_outcome outcome;

	if (!(number_at(bytes, walk->layout->frame.info) & INFO_GENERATOR))
		return SCRIPT_NOT_GENERATOR;
	outcome = read_generator(walk, word_at(bytes, walk->layout->frame.return_value), object);
	if (outcome == SCRIPT_PROVED && word_at(object, walk->layout->generator.frame) != at)
		outcome = SCRIPT_NOT_GENERATOR;
	return outcome;
}

/*
 * A frame on PHP's stack, or that of a generator. Marks have no function: they are on the native
 * stack, or part of the object of a generator.
 */
static enum script_outcome read_frame(struct php_walk *walk, uint64_t at, struct frame *frame)
{
	uint32_t nr_bytes = walk->layout->frame.nr_bytes;
	uint8_t bytes[PHP_FRAME_BYTES_MAX];
	enum script_outcome outcome;
	const struct page *page;

	if (!is_address(at))
		return SCRIPT_TORN;
	page = page_at(walk, at);
	if (page) {
		if (!snapshot_read_any(walk->snapshot, at, bytes, nr_bytes))
			return want(walk, page->start, page->end - page->start);
		take(walk, at, bytes, frame);
		return frame->function ? SCRIPT_PROVED : SCRIPT_TORN;
	}
	if (snapshot_read(walk->snapshot, at, bytes, nr_bytes)) {
		take(walk, at, bytes, frame);
		return frame->function ? SCRIPT_TORN : SCRIPT_PROVED;
	}
	outcome = take_range(walk, at, bytes, nr_bytes);
	if (outcome != SCRIPT_PROVED)
		return outcome;
	take(walk, at, bytes, frame);
	return frame->function ? prove_generator(walk, at, bytes) : SCRIPT_PROVED;
}

/* --- functions --- */

static bool has_opline(const struct php_walk *walk, uint64_t opline)
{
	const struct php_function_layout *layout = &walk->layout->function;
	uint64_t first = word_at(walk->head, layout->oplines);
	uint64_t nr = number_at(walk->head, layout->nr_oplines);

	return opline >= first && (opline - first) / walk->layout->nr_opline_bytes < nr &&
	       (opline - first) % walk->layout->nr_opline_bytes == 0;
}

/* The instructions of a short function are wanted as a whole: a stack is at others each time. */
#define OPLINES_BYTES 4096

/* One alone is not worth a copy of its own. */
static void want_opline(struct php_walk *walk, uint64_t opline)
{
	uint8_t bytes[PHP_OPLINE_BYTES_MAX];

	if (has_opline(walk, opline) && (walk->out || walk->missing->nr))
		(void)take_range(walk, opline, bytes, walk->layout->nr_opline_bytes);
}

static void want_oplines_of(struct php_walk *walk, const struct frame *frame)
{
	const struct php_function_layout *layout = &walk->layout->function;
	uint64_t nr_bytes =
		(uint64_t)number_at(walk->head, layout->nr_oplines) * walk->layout->nr_opline_bytes;
	uint8_t bytes[OPLINES_BYTES];
	uint64_t opline;

	if (nr_bytes && nr_bytes <= sizeof(bytes)) {
		(void)take_range(walk, word_at(walk->head, layout->oplines), bytes, nr_bytes);
		return;
	}
	want_opline(walk, frame->opline);
	if (frame->at == walk->current && php_registers_opline(walk->snapshot, &opline))
		want_opline(walk, opline);
}

/*
 * PHP may free code without a name as soon as it has run, and compile other code in its place: so
 * its file's name and its instruction are copied in the stop. The leaf's instruction is mostly
 * still in a register.
 */
static void want_text_of(struct php_walk *walk, const struct frame *frame)
{
	const struct php_function_layout *layout = &walk->layout->function;
	uint64_t file = word_at(walk->head, layout->file);
	uint8_t bytes[PHP_TEXT_BYTES];

	if (walk->head[0] == PHP_FUNCTION_NATIVE || word_at(walk->head, layout->name) ||
	    !is_address(file))
		return;
	(void)take_range(walk, file, bytes, sizeof(bytes));
	want_oplines_of(walk, frame);
}

static enum script_outcome read_function(struct php_walk *walk, const struct frame *frame)
{
	uint64_t function = frame->function;
	uint32_t nr_bytes = walk->layout->function.nr_bytes;
	const struct php_functions *known = walk->out ? walk->php->functions : NULL;

	if (walk->known == function)
		return SCRIPT_PROVED;
	if (!is_address(function))
		return SCRIPT_TORN;
	walk->known = 0;
	/* Nothing that is to be copied in the stop depends on it. */
	if (!walk->out && snapshot_is_late(walk->snapshot, function, nr_bytes))
		return SCRIPT_NOT_COPIED;
	memset(walk->head, 0, sizeof(walk->head));
	if (!php_functions_read(known, walk->layout, walk->snapshot, function, walk->head))
		return want(walk, function, nr_bytes);
	if (walk->out)
		(void)want(walk, function, nr_bytes);
	if (!php_is_function(walk->head))
		return SCRIPT_TORN;
	walk->known = function;
	want_text_of(walk, frame);
	return SCRIPT_PROVED;
}

/* The instruction of the function that was read last; 0: it is none of it. */
static uint64_t place_of(const struct php_walk *walk, uint64_t opline)
{
	const struct php_globals_layout *layout = &walk->layout->globals;
	uint64_t exception = walk->php->globals + layout->exception;

	if (opline >= exception && opline - exception < layout->nr_exception_bytes)
		opline = walk->before_exception;
	return has_opline(walk, opline) ? opline : 0;
}

static enum script_outcome push(struct php_walk *walk, const struct frame *frame, uint64_t opline,
				size_t native)
{
	struct script_walk *out = walk->out;

	if (!out)
		return SCRIPT_PROVED;
	if (out->nr_frames == FRAMES_MAX)
		return SCRIPT_TOO_DEEP;
	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	out->frames[out->nr_frames++] = (struct script_frame){
		.code = frame->function,
		.instruction = walk->head[0] == PHP_FUNCTION_NATIVE ? 0 : place_of(walk, opline),
		.native = native};
	return SCRIPT_PROVED;
}

/* --- loops --- */

/*
 * Is `callee` a frame that `caller` has just called in the same loop, or is just leaving for it?
 * Where the loop is over it has an entry frame of its own.
 */
static bool is_callee(const struct php_walk *walk, uint64_t callee, uint64_t caller)
{
	uint8_t bytes[PHP_FRAME_BYTES_MAX];
	struct frame frame;

	if (!is_address(callee) ||
	    !snapshot_read_any(walk->snapshot, callee, bytes, walk->layout->frame.nr_bytes))
		return false;
	take(walk, callee, bytes, &frame);
	return frame.previous == caller && !(frame.info & INFO_ENTRY);
}

static size_t next_loop(const struct php_walk *walk, size_t i)
{
	while (i < walk->nr_natives && !walk->natives[i].is_loop)
		i++;
	return i;
}

/*
 * Registers of a thread that was not stopped, as it sleeps, are not known: only its innermost loop
 * has none then, as others are saved by the next. In the middle of a system call it is neither just
 * beginning nor ending an entry; so where all others are proved, this one has the rest.
 */
static bool take_rest(struct php_walk *walk)
{
	size_t i = next_loop(walk, walk->native);

	if (walk->nr_scripts || walk->snapshot->syscall_nr < 0 || i == walk->nr_natives ||
	    walk->natives[i].has_frame)
		return false;
	walk->is_rest = true;
	walk->loop = i;
	walk->native = i + 1;
	return true;
}

/*
 * The loop with this frame in its register; loops that have ended are passed by. One that has just
 * begun, or returns, has in its register what the next one has.
 */
static bool find_loop(struct php_walk *walk, uint64_t frame)
{
	size_t i = next_loop(walk, walk->native);

	for (; i < walk->nr_natives; i = next_loop(walk, i + 1)) {
		const struct php_native *native = &walk->natives[i];
		size_t next = next_loop(walk, i + 1);

		if (!native->has_frame ||
		    (native->frame != frame && !is_callee(walk, native->frame, frame)))
			continue;
		if (next < walk->nr_natives && walk->natives[next].has_frame &&
		    walk->natives[next].frame == frame)
			i = next;
		/* The one before that was taken as the rest was not, if it was not the next. */
		if (walk->is_rest && i != next_loop(walk, walk->native))
			return false;
		walk->is_rest = false;
		walk->loop = i;
		walk->native = i + 1;
		return true;
	}
	return take_rest(walk);
}

/*
 * The native function that this frame has called: the loop calls nothing else meanwhile, so it is
 * in the native frame that the loop has called, which another function may have replaced by a jump.
 */
static enum script_outcome push_called(struct php_walk *walk, size_t first, uint64_t caller)
{
	struct script_walk *out = walk->out;
	uint64_t called = walk->called;

	walk->called = 0;
	if (!called || walk->loop <= first || walk->caller != caller)
		return SCRIPT_PROVED;
	if (out->nr_frames == FRAMES_MAX)
		return SCRIPT_TOO_DEEP;
	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	out->frames[out->nr_frames++] =
		(struct script_frame){.code = called, .native = walk->loop - 1};
	return SCRIPT_PROVED;
}

/* The innermost entry just begins, or has ended, if all loops are known to be at others. */
static bool may_lack_loop(const struct php_walk *walk, const struct frame *frame)
{
	size_t i = next_loop(walk, walk->native);

	return !walk->nr_scripts && (frame->info & INFO_ENTRY) &&
	       (i == walk->nr_natives || walk->natives[i].has_frame);
}

/* A frame of a script, at the instruction that it has kept, or that its loop has in a register. */
static enum script_outcome take_script(struct php_walk *walk, const struct frame *frame)
{
	uint64_t opline = frame->opline;
	size_t first = walk->native;
	const struct php_native *native;
	enum script_outcome outcome;
	bool is_own; /* the loop is at this frame, not at one that it calls or leaves */

	if (!walk->out)
		return SCRIPT_PROVED;
	if (!walk->is_entered)
		walk->has_loop = find_loop(walk, frame->at);
	walk->is_entered = true;
	if (!walk->has_loop)
		return may_lack_loop(walk, frame) ? SCRIPT_PROVED : SCRIPT_NO_NATIVE_FRAME;
	native = &walk->natives[walk->loop];
	is_own = walk->is_rest || native->frame == frame->at;
	if (frame->at == walk->current && is_own)
		opline = native->has_frame && native->has_opline ? native->opline : 0;
	outcome = push_called(walk, first, is_own ? frame->at : 0);
	return outcome == SCRIPT_PROVED ? push(walk, frame, opline, walk->loop) : outcome;
}

/* A function of PHP's own: one that native code calls is known if a native frame is in its code. */
static enum script_outcome take_native(struct php_walk *walk, const struct frame *frame)
{
	uint64_t handler = word_at(walk->head, walk->layout->function.handler);

	if (!walk->out)
		return SCRIPT_PROVED;
	walk->called = frame->info & INFO_ENTRY ? 0 : frame->function;
	walk->caller = frame->previous;
	for (size_t i = walk->native;
	     !walk->called && i < walk->nr_natives && !walk->natives[i].is_loop; i++) {
		if (handler && walk->natives[i].entry == handler) {
			walk->native = i + 1;
			return push(walk, frame, 0, i);
		}
	}
	return SCRIPT_PROVED;
}

/*
 * The generators that are delegating, in a place of which the stack has a mark: the first one, and
 * from there on those that it delegates to, but for the last, which runs.
 */
static enum script_outcome take_delegates(struct php_walk *walk, uint64_t first)
{
	uint64_t frames[DELEGATES_MAX], at = first;
	enum script_outcome outcome = SCRIPT_PROVED;
	size_t nr = 0;

	while (at) {
		uint8_t object[PHP_GENERATOR_BYTES_MAX];

		if (nr == DELEGATES_MAX)
			return SCRIPT_TOO_DEEP;
		outcome = read_generator(walk, at, object);
		if (outcome != SCRIPT_PROVED)
			return outcome;
		frames[nr++] = word_at(object, walk->layout->generator.frame);
		at = word_at(object, walk->layout->generator.delegate);
	}
	for (nr -= nr > 0; nr && outcome == SCRIPT_PROVED; nr--) {
		struct frame frame = {.at = 0};

		outcome = read_frame(walk, frames[nr - 1], &frame);
		if (outcome == SCRIPT_PROVED && !frame.function)
			outcome = SCRIPT_TORN;
		if (outcome == SCRIPT_PROVED)
			outcome = read_function(walk, &frame);
		if (outcome == SCRIPT_PROVED && walk->has_loop)
			outcome = push(walk, &frame, frame.opline, walk->loop);
	}
	return outcome;
}

static enum script_outcome take_mark(struct php_walk *walk, const struct frame *frame)
{
	uint8_t bytes[PHP_FRAME_BYTES_MAX];

	/* One on the native stack is only there because PHP is not in the middle of a call. */
	if (snapshot_read(walk->snapshot, frame->at, bytes, walk->layout->frame.nr_bytes))
		return SCRIPT_PROVED;
	return take_delegates(walk, frame->at - walk->layout->generator.placeholder);
}

/* --- all of it --- */

static enum script_outcome take_frame(struct php_walk *walk, const struct frame *frame)
{
	enum script_outcome outcome;

	if (!frame->function)
		return take_mark(walk, frame);
	outcome = read_function(walk, frame);
	if (outcome == SCRIPT_NOT_COPIED && !walk->out)
		outcome = SCRIPT_PROVED; /* others may be missing, too */
	if (outcome != SCRIPT_PROVED || !walk->known)
		return outcome;
	if (walk->head[0] == PHP_FUNCTION_NATIVE)
		return take_native(walk, frame);
	outcome = take_script(walk, frame);
	walk->nr_scripts++;
	if (frame->info & INFO_ENTRY)
		walk->is_entered = false;
	return outcome;
}

static enum script_outcome begin(struct php_walk *walk)
{
	const struct php_globals_layout *layout = &walk->layout->globals;
	uint8_t bytes[2048];
	uint32_t start = layout->start;
	enum script_outcome outcome =
		take_range(walk, walk->php->globals + start, bytes, layout->end - start);

	if (outcome != SCRIPT_PROVED)
		return outcome;
	walk->current = word_at(bytes, layout->current - start);
	walk->before_exception = word_at(bytes, layout->before_exception - start);
	walk->has_fiber = word_at(bytes, layout->fiber - start);
	if (!walk->current)
		return SCRIPT_PROVED;
	return find_pages(walk, word_at(bytes, layout->stack - start),
			  word_at(bytes, layout->stack_top - start));
}

static enum script_outcome walk_frames(struct php_walk *walk)
{
	enum script_outcome outcome = begin(walk);
	uint64_t at = walk->current;

	for (int nr = 0; at && outcome == SCRIPT_PROVED; nr++) {
		struct frame frame = {.at = 0};

		if (nr == FRAMES_MAX)
			return SCRIPT_TOO_DEEP;
		outcome = read_frame(walk, at, &frame);
		if (outcome == SCRIPT_PROVED)
			outcome = take_frame(walk, &frame);
		/* The frames that resumed a fiber are on another stack. */
		if (walk->has_fiber && at == walk->bottom)
			break;
		at = frame.previous;
	}
	return outcome;
}

enum script_outcome php_walk(const struct php *php, const struct snapshot *snapshot,
			     const struct php_native *natives, size_t nr_natives,
			     struct script_walk *out)
{
	struct php_walk walk = {.php = php,
				.layout = php->layout,
				.snapshot = snapshot,
				.natives = natives,
				.nr_natives = nr_natives,
				.out = out};
	enum script_outcome outcome;

	out->nr_frames = out->leaf_state = 0;
	out->wanted = (struct wanted_memory){.nr = 0};
	outcome = walk_frames(&walk);
	if (outcome == SCRIPT_PROVED && walk.is_rest && next_loop(&walk, walk.native) < nr_natives)
		outcome = SCRIPT_NO_NATIVE_FRAME;
	if (outcome != SCRIPT_PROVED)
		out->nr_frames = 0;
	return outcome;
}

bool php_find_missing(const struct php *php, const struct snapshot *snapshot,
		      struct wanted_memory *missing)
{
	struct php_walk walk = {
		.php = php, .layout = php->layout, .snapshot = snapshot, .missing = missing};

	(void)walk_frames(&walk);
	return missing->nr > 0;
}
