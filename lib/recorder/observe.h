/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_RECORDER_OBSERVE_H
#define PROFC_RECORDER_OBSERVE_H

#include <stdbool.h>

#include "recorder/trigger.h"

struct history_state;

/* A reading of now. `with_rss`: the memory of the processes is read, too; else it is 0. */
struct trigger_reading observe_processes(const struct history_state *state, bool with_rss);

#endif
