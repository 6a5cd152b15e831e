/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager how a recording goes on, as sd_notify(3) documents it. */
#ifndef PROFC_CMD_SERVICE_NOTIFY_H
#define PROFC_CMD_SERVICE_NOTIFY_H

#include <stdbool.h>

/* Recording has begun, and has ended. Without a service manager, these do nothing. */
void service_notify_ready(void);
void service_notify_stopping(void);
/*
 * The line of `systemctl status`: whether it waits for a process to record, and more; control
 * characters become '?'.
 */
void service_notify_state(bool is_waiting, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
