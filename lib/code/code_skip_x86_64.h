/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through code for its direct jumps and calls only, several times as fast as code_decode(). */
#ifndef PROFC_CODE_CODE_SKIP_X86_64_H
#define PROFC_CODE_CODE_SKIP_X86_64_H

#include <stddef.h>
#include <stdint.h>

/*
 * Skip instructions from the one at offset `at` on, up to the first that begins at `end` or later,
 * or about which code_decode() is to be asked, as it may be a direct jump or call, or a
 * CODE_EFFECT_JUMP_GOT, or none at all. Its offset. CODE_INSTRUCTION_MAX_BYTES can be read from
 * `end` on.
 */
size_t code_skip(const uint8_t *bytes, size_t at, size_t end);

#endif
