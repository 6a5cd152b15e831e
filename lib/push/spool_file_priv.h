/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as files of a spool. */
#ifndef PROFC_PUSH_SPOOL_FILE_PRIV_H
#define PROFC_PUSH_SPOOL_FILE_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct push_request;

/*
 * A file: lines "profc-push 1", "target T", "type T", "bytes N", an empty line, and N bytes of the
 * body. Secrets of headers are in none. Its name is its number in hexadecimal, so that names sort
 * by age, and ".push".
 */
void spool_file_append(struct buf *out, const struct push_request *request);
/*
 * ERR_CORRUPT, ERR_TRUNCATED: it is no such file, or its target is no path of a URL, which would
 * send it to another receiver. On success the caller releases the request.
 */
int spool_file_parse(const void *bytes, size_t nr_bytes, struct push_request *request,
		     struct err *err);

/* Written so that it is there whole or not at all, whenever profc ends. The size in *nr_bytes. */
int spool_file_write(const char *directory, uint64_t number, const struct push_request *request,
		     uint64_t *nr_bytes, struct err *err);
int spool_file_read(const char *directory, uint64_t number, uint64_t max_bytes,
		    struct push_request *request, struct err *err);
void spool_file_remove(const char *directory, uint64_t number);

struct spool_file {
	uint64_t number, nr_bytes;
};

/*
 * The files of a directory, oldest first, as an array that the caller frees. Parts of files, which
 * a profc left that was killed, are removed.
 */
int spool_files_list(const char *directory, struct spool_file **files, size_t *nr, struct err *err);
/*
 * Make the directory if it is not there, and lock it. Returns a descriptor; while that is open it
 * is locked; or a failure of push_spool_open().
 */
int spool_files_lock(const char *directory, struct err *err);

#endif
