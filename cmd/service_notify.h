/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager how a recording goes on, as sd_notify(3) documents it. */
#ifndef PROFC_CMD_SERVICE_NOTIFY_H
#define PROFC_CMD_SERVICE_NOTIFY_H

/* Recording has begun, and has ended. Without a service manager, these do nothing. */
void service_notify_ready(void);
void service_notify_stopping(void);
/* The line of `systemctl status`; control characters become '?'. */
void service_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
