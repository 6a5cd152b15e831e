/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_WAITED_H
#define PROFC_CALLTREE_WAITED_H

#include <stdbool.h>
#include <stdint.h>

struct blame;
struct buf;
struct observation;
struct profile;
struct sample;

/* The object that a blocked thread waited for, or its system call if the object is unknown. */
enum waited_kind { WAITED_LOCK, WAITED_DESCRIPTOR, WAITED_CALL };

struct waited {
	enum waited_kind kind;
	uint32_t number; /* of the object in its blame; or of the system call, -1: none is known */
};

/* The objects found so far. */
struct waited_objects {
	struct blame *locks, *descriptors; /* owned by the caller */
};

/* Find out what a blocked thread waited for, and add its time to the blame of that object. */
struct waited waited_of(const struct waited_objects *objects,
			const struct observation *observation);
/* Was the thread in one of these system calls? The last name is NULL. */
bool waited_in_call(const struct profile *profile, const struct sample *sample,
		    const char *const *names);
/* Did it wait for a child process? */
bool waited_for_child(const struct profile *profile, const struct sample *sample);
/* Its name: raw text of the target. */
void waited_append(struct buf *out, const struct waited_objects *objects,
		   const struct profile *profile, const struct waited *waited);

#endif
