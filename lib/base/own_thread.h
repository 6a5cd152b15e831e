/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_OWN_THREAD_H
#define PROFC_BASE_OWN_THREAD_H

/*
 * Call run(context) in a new thread, and wait for its end: the kernel detaches that thread from all
 * that it still traces by ptrace(2). In the calling thread where none can be made.
 */
void own_thread_run(void (*run)(void *context), void *context);

#endif
