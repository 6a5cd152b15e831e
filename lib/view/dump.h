/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of `profc dump` as text and as JSON. */
#ifndef PROFC_VIEW_DUMP_H
#define PROFC_VIEW_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct expansion;
struct profile_wait;
struct sample;
struct sink;
struct view;

/* One thread of a dump. All texts are borrowed, and raw: escaped here. */
struct dump_thread {
	uint32_t row;		     /* of profile.threads */
	const struct sample *sample; /* its sample; NULL: none was taken */
	const char *why_no_stack;    /* the reason why none was taken, if it is NULL */
	char state;		     /* as in /proc: R S D T Z …; '?' if it has exited */
};

/* The threads of a process are adjacent, in the order of display. */
struct dump {
	const struct expansion *expansion;
	const struct dump_thread *threads;
	size_t nr_threads;
};

/* Threads with the same stack are listed above one copy of it, leaf first. */
void dump_print_text(const struct dump *dump, const struct view *view, struct sink *sink);
void dump_print_json(const struct dump *dump, struct sink *sink);

/* The system call in which a thread sleeps, and its wait there; NULL: none, or not known. */
const char *dump_syscall(const struct dump *dump, const struct dump_thread *thread);
const struct profile_wait *dump_wait(const struct dump *dump, const struct dump_thread *thread);
/* "running", "sleeping", … for a state letter. */
const char *dump_state_word(char state);

#endif
