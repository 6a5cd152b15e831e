/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_MOUNTS_H
#define PROFC_PROC_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The lines of /proc/PID/mountinfo (proc_pid_mountinfo(5)), from text:
 *	36 35 98:0 / /mnt rw,noatime master:1 - fuse.sshfs host: rw
 * The texts are borrowed and not NUL-terminated.
 */
struct proc_mount {
	uint64_t id;
	uint32_t dev_major, dev_minor; /* of the file system: as in /proc/PID/maps */
	const char *options;	       /* of the mount: "rw,nosuid" */
	size_t nr_options_bytes;
	const char *type; /* of the file system, with its subtype: "fuse.sshfs" */
	size_t nr_type_bytes;
};

struct proc_mounts_iter {
	const char *at, *end; /* borrowed */
};

struct proc_mounts_iter proc_mounts_over(const char *text, size_t nr_bytes);
/* The next line that is one of mountinfo; false: no more. */
bool proc_mounts_next(struct proc_mounts_iter *iter, struct proc_mount *mount);

/* Is this word one of the options, which commas separate? */
bool proc_mount_has_option(const struct proc_mount *mount, const char *word);
/* Is it of this type? */
bool proc_mount_is_type(const struct proc_mount *mount, const char *type);

#endif
