/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_WAIT_STATUS_H
#define PROFC_TARGET_WAIT_STATUS_H

#include <signal.h>

/* The status of an end that waitid(2) told of, as waitpid(2) would have given it. */
int wait_status_of(const siginfo_t *info);

#endif
