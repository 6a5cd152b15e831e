/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of `profc dump` as text and as JSON. */
#ifndef PROFC_VIEW_DUMP_H
#define PROFC_VIEW_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct expansion;
struct sample;
struct sink;
struct view;

/* One thread of a dump. All texts are borrowed, and raw: escaped here. */
struct dump_thread {
	uint32_t row;		     /* of profile.threads */
	const struct sample *sample; /* its sample; NULL: none was taken */
	char state;		     /* as in /proc: R S D T Z …; '?' if it has exited */
	/* For threads that do not run: */
	const char *syscall; /* that it sleeps in, or NULL */
	uint64_t argument;   /* the first one */
	int fd;		     /* that is a descriptor; else -1 */
	const char *object;  /* describes the descriptor's file, or "" */
	pid_t owner;	     /* the thread that holds the lock it waits for, or 0 */
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

/* "running", "sleeping", … for a state letter. */
const char *dump_state_word(char state);

#endif
