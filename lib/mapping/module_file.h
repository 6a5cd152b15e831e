/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells whether a file is still the one that was recorded. */
#ifndef PROFC_MAPPING_MODULE_FILE_H
#define PROFC_MAPPING_MODULE_FILE_H

struct module;

/* The beginning of each message on why a file is not the one that was recorded. */
#define MODULE_REPLACED "the file was rebuilt or replaced after the recording: "

/*
 * How the file open on `fd` differs from the one that was mapped as `module`, a sentence for a
 * user; the caller's. NULL: it is that file, as far as the recording knows. `image_fd` is open
 * on its ELF image: a copy where that is inside the file, else `fd`. Both are borrowed.
 */
char *module_file_difference(const struct module *module, int fd, int image_fd);

#endif
