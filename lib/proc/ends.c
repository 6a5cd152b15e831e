// SPDX-License-Identifier: GPL-2.0-or-later
/* The ends of pipes, and sockets, among the descriptors of all processes. */
#include "proc/ends.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/read.h"

#define DESCRIPTORS_MAX 100000

void proc_ends_release(struct proc_ends *ends)
{
	free(ends->rows);
	index_set_release(&ends->set);
	*ends = (struct proc_ends){0};
}

static bool same_end(const void *owner, uint32_t index, const void *key)
{
	const struct proc_ends *ends = owner;
	const struct proc_end *wanted = key;

	return ends->rows[index].inode == wanted->inode && ends->rows[index].kind == wanted->kind;
}

static uint32_t find(const struct proc_ends *ends, uint64_t inode, enum proc_end_kind kind,
		     uint64_t *hash)
{
	const struct proc_end wanted = {.inode = inode, .kind = kind};

	*hash = hash_mix(kind, inode);
	return index_set_find(&ends->set, *hash, same_end, ends, &wanted);
}

static void add_owner(struct proc_ends *ends, uint64_t inode, enum proc_end_kind kind, pid_t pid)
{
	uint64_t hash;
	uint32_t found = find(ends, inode, kind, &hash);

	if (found == INDEX_NONE) {
		ARRAY_GROW(ends->rows, ends->nr, ends->cap);
		found = (uint32_t)ends->nr++;
		ends->rows[found] = (struct proc_end){.inode = inode, .kind = kind};
		index_set_add(&ends->set, hash, found);
	}
	for (size_t i = 0; i < PROC_END_OWNERS; i++) {
		pid_t *owner = &ends->rows[found].owners[i];

		if (!*owner)
			*owner = pid;
		if (*owner == pid)
			return;
	}
}

/* The links of /proc/PID/fd have the permissions that their descriptors were opened with. */
static bool writes_at(int directory, const char *name, bool *writes)
{
	struct stat stat;

	if (fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*writes = stat.st_mode & S_IWUSR;
	return true;
}

bool proc_descriptor_writes(pid_t pid, int fd, bool *writes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return writes_at(AT_FDCWD, path, writes);
}

bool proc_end_inode(const char *target, const char *prefix, uint64_t *inode)
{
	if (strncmp(target, prefix, strlen(prefix)) != 0)
		return false;
	*inode = strtoull(target + strlen(prefix), NULL, 10);
	return true;
}

static void read_descriptor(struct proc_ends *ends, int directory, const char *name, pid_t pid)
{
	char target[64];
	ssize_t got = readlinkat(directory, name, target, sizeof(target) - 1);
	uint64_t inode;
	bool writes;

	target[got > 0 ? got : 0] = '\0';
	if (proc_end_inode(target, "socket:[", &inode))
		add_owner(ends, inode, PROC_END_SOCKET, pid);
	else if (proc_end_inode(target, "pipe:[", &inode) && writes_at(directory, name, &writes))
		add_owner(ends, inode, writes ? PROC_END_WRITES : PROC_END_READS, pid);
}

static void read_process(struct proc_ends *ends, pid_t pid, unsigned int *nr_left)
{
	char path[64];
	const struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	for (; directory && *nr_left && (entry = readdir(directory)); --*nr_left)
		read_descriptor(ends, dirfd(directory), entry->d_name, pid);
	if (directory)
		closedir(directory);
}

void proc_ends_read(struct proc_ends *ends)
{
	unsigned int nr_left = DESCRIPTORS_MAX;
	DIR *processes = opendir("/proc");
	pid_t pid;

	proc_ends_release(ends);
	while (processes && nr_left && (pid = proc_next_id(processes)))
		read_process(ends, pid, &nr_left);
	if (processes)
		closedir(processes);
}

const struct proc_end *proc_ends_find(const struct proc_ends *ends, uint64_t inode,
				      enum proc_end_kind kind)
{
	uint64_t hash;
	uint32_t found = find(ends, inode, kind, &hash);

	return found == INDEX_NONE ? NULL : &ends->rows[found];
}

bool proc_end_is_of(const struct proc_end *end, pid_t pid)
{
	for (size_t i = 0; end && i < PROC_END_OWNERS; i++) {
		if (end->owners[i] == pid)
			return true;
	}
	return false;
}
