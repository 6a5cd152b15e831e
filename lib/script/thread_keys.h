/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_THREAD_KEYS_H
#define PROFC_SCRIPT_THREAD_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct space;

/*
 * Set how far from the thread pointer glibc's threads have their table of keys
 * (pthread_key_create): the addresses of blocks of 32 keys each, of which a key has two words, a
 * number and its value. False: the process has no glibc, or one that is laid out otherwise.
 */
bool thread_keys_find(struct space *space, uint64_t *offset);

/*
 * Set where glibc's record of a thread, whose address is what pthread_self() returns, has the
 * kernel's id of it, 32 bits. False likewise.
 */
bool thread_keys_find_id(struct space *space, uint32_t *offset);

#endif
