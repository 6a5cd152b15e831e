// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a process' descriptors: each is read at most a few times a second. */
#include "wait/descriptors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"

/* After this the number may belong to another file. */
#define BELIEVED_NS (20 * NS_PER_MS)
/* If there are more, all are forgotten. */
#define KNOWN_MAX  4096
#define TARGET_MAX 512

struct descriptor {
	int fd;
	uint64_t read_ns;
	char *object; /* owned; NULL: could not be read */
};

struct descriptors {
	pid_t pid;
	struct descriptor *known; /* owned */
	size_t nr, cap;
	struct index_set set;
};

struct descriptors *descriptors_new(pid_t pid)
{
	struct descriptors *descriptors = xcalloc(1, sizeof(*descriptors));

	descriptors->pid = pid;
	return descriptors;
}

static void forget_all(struct descriptors *descriptors)
{
	for (size_t i = 0; i < descriptors->nr; i++)
		free(descriptors->known[i].object);
	descriptors->nr = 0;
	index_set_release(&descriptors->set);
	descriptors->set = (struct index_set){0};
}

void descriptors_free(struct descriptors *descriptors)
{
	if (!descriptors)
		return;
	forget_all(descriptors);
	free(descriptors->known);
	free(descriptors);
}

static bool same_fd(const void *owner, uint32_t index, const void *key)
{
	const struct descriptors *descriptors = owner;

	return descriptors->known[index].fd == *(const int *)key;
}

static struct descriptor *find(struct descriptors *descriptors, int fd)
{
	uint64_t hash = hash_u64((uint64_t)fd);
	uint32_t found = index_set_find(&descriptors->set, hash, same_fd, descriptors, &fd);

	if (found != INDEX_NONE)
		return &descriptors->known[found];
	if (descriptors->nr >= KNOWN_MAX)
		forget_all(descriptors);
	ARRAY_GROW(descriptors->known, descriptors->nr, descriptors->cap);
	descriptors->known[descriptors->nr] = (struct descriptor){.fd = fd};
	index_set_add(&descriptors->set, hash, (uint32_t)descriptors->nr);
	return &descriptors->known[descriptors->nr++];
}

static void read_object(pid_t pid, struct descriptor *descriptor)
{
	char path[64], target[TARGET_MAX];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, descriptor->fd);
	got = readlink(path, target, sizeof(target) - 1);
	target[got > 0 ? got : 0] = '\0';
	if (descriptor->object && strcmp(descriptor->object, target) == 0)
		return;
	free(descriptor->object);
	descriptor->object = got > 0 ? xstrdup(target) : NULL;
}

const char *descriptors_object(struct descriptors *descriptors, int fd, uint64_t now_ns,
			       bool *is_read)
{
	struct descriptor *descriptor = find(descriptors, fd);

	*is_read = !descriptor->read_ns || now_ns - descriptor->read_ns > BELIEVED_NS;
	if (*is_read) {
		read_object(descriptors->pid, descriptor);
		descriptor->read_ns = now_ns;
	}
	return descriptor->object;
}
