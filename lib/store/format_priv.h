/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_PRIV_H
#define PROFC_STORE_FORMAT_PRIV_H

#include <stdint.h>

#include "profile/profile.h"
#include "profile/schema.h"

/*
 * The numbers of the file format. man/profc-data.5 explains them; a change here is a change there,
 * and anything but a new record type or a new last column raises FORMAT_VERSION.
 */
#define FORMAT_VERSION UINT32_C(3)

/* One of the 16 magic numbers of a skippable zstd frame (RFC 8878, 3.1.2). */
#define FORMAT_SKIPPABLE_MAGIC	UINT32_C(0x184d2a5c)
#define FORMAT_MAGIC		"profc\0\0" /* with its final NUL: 8 bytes */
#define FORMAT_MAGIC_BYTES	8
#define FORMAT_HEADER_BYTES	24 /* magic, content size, FORMAT_MAGIC, version, reserved */
#define FORMAT_HEADER_CONTENT	16
#define FORMAT_ZSTD_FRAME_MAGIC UINT32_C(0xfd2fb528)

/* Bounds that readers enforce, so that no small file can ask for much memory. */
#define FRAME_CONTENT_MAX_BYTES	  ((size_t)64 << 20)
#define FRAME_WINDOW_LOG_MAX	  26
#define CONTENT_ALLOWANCE_BYTES	  ((uint64_t)64 << 20)
#define CONTENT_MAX_PER_FILE_BYTE 128
#define ROWS_ALLOWANCE		  ((uint64_t)4 << 20)
#define ROWS_MAX_PER_FILE_BYTE	  16
#define RECORD_ROWS_MAX		  16384
#define STRING_MAX_BYTES	  ((size_t)16 << 20)
#define TABLE_ROWS_MAX		  (UINT32_C(1) << 30)

/*
 * The state of coding samples, over the whole file: a thread's time since its previous sample is
 * the sum of its weights but for small differences, so one of the three weights need not be
 * written.
 */
struct sample_coder {
	uint64_t *last_ns; /* by thread; owned */
	size_t nr_threads, cap_threads;
	uint64_t previous_ns; /* of the row before, of any thread */
};

void sample_coder_release(struct sample_coder *coder);
void sample_coder_grow(struct sample_coder *coder, size_t nr_threads);
/* The larger weight of a sample at time_ns if wall were exact; may be "negative". */
uint64_t sample_coder_expect(const struct sample_coder *coder, uint32_t thread, uint64_t time_ns,
			     uint64_t smaller_weights_ns);
void sample_coder_step(struct sample_coder *coder, uint32_t thread, uint64_t time_ns);

#endif
