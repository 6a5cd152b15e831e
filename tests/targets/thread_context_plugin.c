// SPDX-License-Identifier: GPL-2.0-or-later
/* A library with the variable for the contexts of threads, for publishes_contexts.c. */
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void attach_context(void *record);

void attach_context(void *record)
{
	*(void *volatile *)&otel_thread_ctx_v1 = record;
}
