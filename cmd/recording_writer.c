// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_writer.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sampler/sampler.h"

struct recording_writer {
	int niceness;
	pthread_t thread;
	bool has_thread;
	int over_fd; /* readable once the thread has written all */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct recording_part *first, **end; /* borrowed; in the order of their cuts */
	bool no_more;			     /* will be added */
};

struct recording_writer *recording_writer_new(int niceness)
{
	struct recording_writer *writer = xcalloc(1, sizeof(*writer));

	writer->niceness = niceness;
	writer->over_fd = -1;
	writer->end = &writer->first;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->changed, NULL);
	return writer;
}

void recording_writer_free(struct recording_writer *writer)
{
	if (!writer)
		return;
	recording_writer_wait(writer);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

/*
 * Names and files take tens of megabytes, which the C library would keep for the thread; the next
 * part may come in hours.
 */
static void give_memory_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void write_part(struct recording_part *part)
{
	collector_cut_wait(&part->cut);
	part->write(part->context);
	give_memory_back();
}

/* NULL: no more will come. */
static struct recording_part *next_part(struct recording_writer *writer)
{
	struct recording_part *part;

	pthread_mutex_lock(&writer->lock);
	while (!writer->first && !writer->no_more)
		pthread_cond_wait(&writer->changed, &writer->lock);
	part = writer->first;
	if (part)
		writer->first = part->next;
	if (!writer->first)
		writer->end = &writer->first;
	pthread_mutex_unlock(&writer->lock);
	return part;
}

static void *write_all(void *argument)
{
	struct recording_writer *writer = argument;
	struct recording_part *part;

	setpriority(PRIO_PROCESS, (id_t)gettid(), writer->niceness);
	while ((part = next_part(writer)))
		write_part(part);
	eventfd_write(writer->over_fd, 1);
	return NULL;
}

bool recording_writer_is_beside(struct recording_writer *writer)
{
	if (writer->has_thread)
		return true;
	writer->over_fd = eventfd(0, EFD_CLOEXEC);
	if (writer->over_fd < 0)
		return false;
	writer->has_thread = pthread_create(&writer->thread, NULL, write_all, writer) == 0;
	if (!writer->has_thread)
		close(writer->over_fd);
	return writer->has_thread;
}

void recording_writer_add(struct recording_writer *writer, struct sampler *sampler,
			  struct recording_part *part)
{
	part->next = NULL;
	sampler_cut(sampler, &part->cut);
	if (!recording_writer_is_beside(writer)) {
		write_part(part);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	*writer->end = part;
	writer->end = &part->next;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
}

int recording_writer_finish(struct recording_writer *writer)
{
	if (!writer->has_thread)
		return -1;
	pthread_mutex_lock(&writer->lock);
	writer->no_more = true;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return writer->over_fd;
}

void recording_writer_wait(struct recording_writer *writer)
{
	if (recording_writer_finish(writer) < 0)
		return;
	pthread_join(writer->thread, NULL);
	writer->has_thread = false;
	writer->no_more = false;
	close(writer->over_fd);
}
