// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the candidate that a misspelt word was meant to be. */
#include "base/nearest.h"

#include <string.h>

/* No option or command is longer. */
#define MAX_LENGTH 48

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment distance: Levenshtein's with swapped neighbours as
 * one slip. Three rows of its table are enough.
 */
static size_t distance(const char *a, size_t nr_a, const char *b, size_t nr_b)
{
	size_t rows[3][MAX_LENGTH + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nr_b; j++)
		above[j] = before[j] = j;
	for (size_t i = 1; i <= nr_a; i++) {
		size_t *reused = before;

		row[0] = i;
		for (size_t j = 1; j <= nr_b; j++) {
			row[j] = smaller(above[j], row[j - 1]) + 1;
			row[j] = smaller(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = reused;
	}
	return above[nr_b];
}

const char *nearest_word(const char *word, const char *const *candidates, size_t nr)
{
	const char *nearest = NULL;
	size_t length = strlen(word);
	size_t limit = length < 4 ? 1 : 1 + length / 3; /* "top" is no misspelt "foo" */

	if (!length || length > MAX_LENGTH)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		size_t candidate_length = strlen(candidates[i]);
		size_t slips;

		if (candidate_length > MAX_LENGTH)
			continue;
		if (length >= 2 && strncmp(word, candidates[i], length) == 0)
			slips = 1;
		else
			slips = distance(word, length, candidates[i], candidate_length);
		if (slips < candidate_length && (nearest ? slips < limit : slips <= limit)) {
			nearest = candidates[i];
			limit = slips;
		}
	}
	return nearest;
}
