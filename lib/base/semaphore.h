/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for a semaphore up to a time. */
#ifndef PROFC_BASE_SEMAPHORE_H
#define PROFC_BASE_SEMAPHORE_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Takes one from `semaphore`, waiting for it up to `until_ns` of clock_monotonic_ns(). False if
 * none came, or if a signal handler ended the wait before.
 */
bool semaphore_wait_until(sem_t *semaphore, uint64_t until_ns);

#endif
