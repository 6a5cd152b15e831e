/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_REACH_SEARCH_H
#define PROFC_PROBE_REACH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct reach;

/*
 * Search a process that is due (reach_is_due()), for the last time or not: it is stopped meanwhile,
 * by a thread of our own that traces nobody else. `command` as of stopped_begin(). The result is
 * there for reach_take().
 */
void reach_search(struct reach *reach, uint32_t process, pid_t pid, pid_t command, bool is_last);

#endif
