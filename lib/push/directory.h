/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory as receiver: for what copies files elsewhere. */
#ifndef PROFC_PUSH_DIRECTORY_H
#define PROFC_PUSH_DIRECTORY_H

#include "push/transport.h"

struct err;

/*
 * Make the directory if its path ends in '/' and nothing is there; only its owner can access it
 * then. ERR_SYS, ERR_INVALID: there is no such directory.
 */
int push_directory_make(const char *path, struct err *err);
/*
 * A transport that writes the body of a request to the file with the name that is its target, which
 * appears when it is complete, in place of one of that name. `path` is borrowed for as long as the
 * transport is used.
 */
struct push_transport push_directory_transport(const char *path);

#endif
