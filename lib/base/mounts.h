/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_MOUNTS_H
#define PROFC_BASE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The lines of /proc/PID/mountinfo (proc_pid_mountinfo(5)), from text:
 *	36 35 98:0 / /mnt rw,noatime master:1 - fuse.sshfs host: rw
 * The texts are borrowed and not NUL-terminated.
 */
struct mount_line {
	uint64_t id;
	uint32_t dev_major, dev_minor; /* of the file system: as in /proc/PID/maps */
	const char *place;	       /* where it is mounted, below the root of the process */
	size_t nr_place_bytes;
	const char *options; /* of the mount: "rw,nosuid" */
	size_t nr_options_bytes;
	const char *type; /* of the file system, with its subtype: "fuse.sshfs" */
	size_t nr_type_bytes;
	const char *own_options; /* of the file system: "rw,lowerdir=/a:/b" */
	size_t nr_own_options_bytes;
};

struct mounts_iter {
	const char *at, *end; /* borrowed */
};

struct mounts_iter mounts_over(const char *text, size_t nr_bytes);
/* The next line that is one of mountinfo; false: no more. */
bool mounts_next(struct mounts_iter *iter, struct mount_line *mount);

/* Is this word one of the options, which commas separate? */
bool mount_line_has_option(const struct mount_line *mount, const char *word);
/* Is it of this type? */
bool mount_line_is_type(const struct mount_line *mount, const char *type);

/*
 * May a read of one of its files wait for a program (FUSE)? No other file system that waits for
 * one, or for another machine, can be mounted by users: of these the administrator has made sure.
 * Of an overlay the layers count, which are looked for among `mounts`, the whole text.
 */
bool mount_line_is_served(const struct mount_line *mount, const char *mounts, size_t nr_bytes);

#endif
