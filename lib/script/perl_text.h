/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_TEXT_H
#define PROFC_SCRIPT_PERL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct perl_layout;
struct snapshot;
struct space;

/* Enough bytes for the usual name of a sub, with those before it. */
#define PERL_KEY_BYTES_USUAL 48

/*
 * The name of the sub with this body, "Package::name", as the process has it now; NULL: it has none
 * that can be read. If the snapshot has it, is_copied is set: then it is as of the snapshot. The
 * caller owns it.
 */
char *perl_sub_name(const struct perl_layout *layout, struct space *space,
		    const struct snapshot *snapshot, const uint8_t *body, bool *is_copied);

/* Enough bytes for the usual name of a file, with its end. */
#define PERL_FILE_BYTES_USUAL 64

/*
 * The name of a file at `at`, as the snapshot has it, or is_late is set, and it is as of now; NULL:
 * there is none. Evals of text have numbers, "(eval 12)", which are left out: a program may have
 * any number of them. The caller owns it.
 */
char *perl_file_name(struct space *space, const struct snapshot *snapshot, uint64_t at,
		     bool *is_late);

#endif
