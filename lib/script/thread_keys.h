/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_THREAD_KEYS_H
#define PROFC_SCRIPT_THREAD_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;

/* The beginnings of the names of the modules that have its symbols for debuggers; its loader's. */
extern const char *const glibc_libraries[];
extern const char *const glibc_loaders[];

/*
 * Set addresses[i] to where names[i] is in the process, as one module with such a name exports
 * them all. False: there is none.
 */
bool glibc_exports_find(struct space *space, const char *const *beginnings,
			const char *const *names, size_t nr, uint64_t *addresses);

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
