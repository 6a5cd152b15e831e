// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks: `process;root;…;leaf weight`, one line for each distinct stack. The format has no
 * escaping, so characters that readers would misread are replaced.
 *
 * - `;` separates frames: it becomes `:`. Control and invalid bytes become \n, \x1b …
 * - Readers take the last word of a line for the weight and, if the word before it is a number too,
 *   for a difference: a space before a final number becomes `_`.
 * - White space in the process name becomes `_`, and so does a `#` that would begin a line (a
 *   comment for some readers).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "export/extract_priv.h"
#include "export/path_sums_priv.h"

/* Does text end in a space and a number, which would be read as a weight? */
static size_t weight_like_tail(const char *text, size_t length)
{
	size_t at = length;

	while (at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'))
		at--;
	return at < length && at && text[at - 1] == ' ' ? at - 1 : length;
}

static void append_frame(struct buf *out, const char *name)
{
	struct buf plain = {0};
	const char *text;
	size_t length;
	size_t bad_space;

	escape_terminal(&plain, name);
	text = buf_str(&plain);
	length = plain.nr_bytes;
	while (length && text[length - 1] == ' ')
		length--;
	bad_space = weight_like_tail(text, length);
	for (size_t i = 0; i < length; i++) {
		char c = text[i] == ';' ? ':' : text[i];

		buf_append_byte(out, (uint8_t)(i == bad_space ? '_' : c));
	}
	buf_release(&plain);
}

static void append_word(struct buf *out, const char *name)
{
	size_t start = out->nr_bytes;

	append_frame(out, name);
	for (size_t i = start; i < out->nr_bytes; i++) {
		if (out->bytes[i] == ' ' || (out->bytes[i] == '#' && i == start))
			out->bytes[i] = '_';
	}
}

static void append_lane(struct buf *out, const struct extract *extract, const struct lane *lane)
{
	bool merged = lane->process == PROCESS_NONE;

	append_word(out,
		    profile_str(extract->profile, merged ? lane->process_name : lane->thread_name));
	if (!merged)
		buf_printf(out, "-%d/%d", lane->pid, lane->tid);
}

/* ";name" of every label, as the format allows it. */
struct frame_texts {
	struct buf texts;
	size_t *starts; /* by label, and the end of the last */
};

static struct frame_texts make_frame_texts(const struct extract *extract)
{
	uint32_t nr_labels = (uint32_t)extract->expansion->nr_labels;
	struct frame_texts frames = {.starts = xcalloc(nr_labels + 1, sizeof(*frames.starts))};
	struct buf name = {0};

	for (uint32_t i = 0; i < nr_labels; i++) {
		buf_clear(&name);
		extract_append_placed_name(&name, extract, i);
		frames.starts[i] = frames.texts.nr_bytes;
		buf_append_byte(&frames.texts, ';');
		append_frame(&frames.texts, buf_str(&name));
	}
	frames.starts[nr_labels] = frames.texts.nr_bytes;
	buf_release(&name);
	return frames;
}

static void frame_texts_release(struct frame_texts *frames)
{
	buf_release(&frames->texts);
	free(frames->starts);
}

static void append_path(struct buf *out, const struct frame_texts *frames,
			const struct path_nodes *labels)
{
	for (uint32_t i = 0; i < labels->nr; i++) {
		size_t start = frames->starts[labels->nodes[i]];

		buf_append(out, frames->texts.bytes + start,
			   frames->starts[labels->nodes[i] + 1] - start);
	}
}

static void write_lane(const struct extract *extract, const struct frame_texts *frames,
		       const struct path_sums *sums, const struct lane *lane, struct sink *sink)
{
	struct path_nodes labels = {.nr = 0};
	struct buf prefix = {0};
	struct buf line = {0};

	append_lane(&prefix, extract, lane);
	for (size_t i = 0; i < sums->nr_sums; i++) {
		buf_clear(&line);
		buf_append(&line, prefix.bytes, prefix.nr_bytes);
		path_nodes_of(&labels, extract->paths, sums->sums[i].path);
		append_path(&line, frames, &labels);
		buf_append_byte(&line, ' ');
		buf_append_decimal(&line, sums->sums[i].weight);
		buf_append_byte(&line, '\n');
		sink_write(sink, line.bytes, line.nr_bytes);
		extract_passed(extract, lane, i + 1, sums->nr_sums);
	}
	path_nodes_release(&labels);
	buf_release(&prefix);
	buf_release(&line);
}

void write_folded(const struct extract *extract, struct sink *sink)
{
	struct frame_texts frames = make_frame_texts(extract);
	struct path_sums sums = {0};

	for (size_t i = 0; i < extract->nr_lanes; i++) {
		path_sums_lane(&sums, extract, &extract->lanes[i]);
		write_lane(extract, &frames, &sums, &extract->lanes[i], sink);
	}
	path_sums_release(&sums);
	frame_texts_release(&frames);
}
