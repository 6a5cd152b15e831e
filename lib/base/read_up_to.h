/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_READ_UP_TO_H
#define PROFC_BASE_READ_UP_TO_H

#include <stddef.h>
#include <sys/types.h>

/* Read until the file ends, or `room` is full. Returns how many bytes that are; -1: errno. */
ssize_t read_up_to(int fd, void *room, size_t nr_bytes);

#endif
