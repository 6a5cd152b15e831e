/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_OWN_STACK_H
#define PROFC_TESTS_OWN_STACK_H

#include <pthread.h>
#include <stddef.h>

/* A thread that stands on that memory. */
static inline pthread_t start_on_stack(void *stack, size_t nr_bytes, void *(*thread_main)(void *),
				       void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, nr_bytes);
	pthread_create(&thread, &attributes, thread_main, argument);
	pthread_attr_destroy(&attributes);
	return thread;
}

#endif
