// SPDX-License-Identifier: GPL-2.0-or-later
/* The queue of requests that are to be delivered. */
#include "push/spool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/index_set.h"
#include "push/request.h"
#include "push/spool_file_priv.h"

#define FIRST_WAIT_NS	NS_PER_SEC
#define LONGEST_WAIT_NS (300 * NS_PER_SEC)

struct entry {
	uint64_t number;
	uint64_t nr_bytes;
	struct push_request request; /* in memory only; else empty */
};

struct push_spool {
	char *directory; /* owned; NULL: in memory */
	int lock_fd;	 /* -1: in memory */
	struct push_spool_options options;
	pthread_mutex_t mutex; /* of what follows; never held while a request is sent */
	struct entry *entries; /* owned; by number */
	size_t nr, cap;
	struct push_counts counts;
	uint64_t next_number; /* of the next one that is added */
	uint64_t turn;	      /* the number to be sent next, or the one after it */
	uint64_t sending;     /* the number that is being sent, which is not dropped; 0: none */
	uint64_t due_ns;
	unsigned int nr_in_row; /* failures */
	uint64_t random;
};

/* --- times --- */

/* splitmix64 */
static uint64_t draw(struct push_spool *spool)
{
	return scramble_u64(spool->random += UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t now(const struct push_spool *spool)
{
	return spool->options.now_ns ? spool->options.now_ns(spool->options.now_context)
				     : clock_monotonic_ns();
}

static uint64_t wait_after_failure(struct push_spool *spool)
{
	uint64_t wait = spool->options.first_wait_ns;

	for (unsigned int i = 1; i < spool->nr_in_row && wait < spool->options.longest_wait_ns; i++)
		wait *= 2;
	if (wait > spool->options.longest_wait_ns)
		wait = spool->options.longest_wait_ns;
	return wait - draw(spool) % (wait / 2 + 1);
}

/* --- entries --- */

/* The first one with this number or a higher one; `nr` if there is none. */
static size_t find(const struct push_spool *spool, uint64_t number)
{
	size_t low = 0, high = spool->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spool->entries[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void append(struct push_spool *spool, const struct entry *entry)
{
	ARRAY_GROW(spool->entries, spool->nr, spool->cap);
	spool->entries[spool->nr++] = *entry;
	spool->counts.left_bytes += entry->nr_bytes;
	spool->counts.nr_left++;
}

static void take_out(struct push_spool *spool, size_t index)
{
	struct entry *entry = &spool->entries[index];

	if (spool->directory)
		spool_file_remove(spool->directory, entry->number);
	push_request_release(&entry->request);
	spool->counts.left_bytes -= entry->nr_bytes;
	spool->counts.nr_left--;
	spool->nr--;
	memmove(entry, entry + 1, (spool->nr - index) * sizeof(*entry));
}

/* Drops the oldest ones, except that which is being sent. False: there is not enough room then. */
static bool make_room(struct push_spool *spool, uint64_t nr_bytes)
{
	size_t index = 0;

	while (spool->counts.left_bytes + nr_bytes > spool->options.max_bytes &&
	       index < spool->nr) {
		if (spool->entries[index].number == spool->sending) {
			index++;
			continue;
		}
		take_out(spool, index);
		spool->counts.nr_dropped++;
	}
	return spool->counts.left_bytes + nr_bytes <= spool->options.max_bytes;
}

/* --- opening --- */

static int find_files(struct push_spool *spool, struct err *err)
{
	struct spool_file *files;
	size_t nr;
	int status = spool_files_list(spool->directory, &files, &nr, err);

	if (status)
		return status;
	for (size_t i = 0; i < nr; i++) {
		append(spool,
		       &(struct entry){.number = files[i].number, .nr_bytes = files[i].nr_bytes});
		spool->next_number = files[i].number + 1;
	}
	spool->counts.nr_found = nr;
	free(files);
	make_room(spool, 0);
	return 0;
}

int push_spool_open(struct push_spool **spool, const struct push_spool_options *options,
		    struct err *err)
{
	struct push_spool *made = xcalloc(1, sizeof(*made));
	int status = 0;

	made->options = *options;
	if (!made->options.max_bytes)
		made->options.max_bytes = UINT64_MAX / 2;
	if (!made->options.first_wait_ns)
		made->options.first_wait_ns = FIRST_WAIT_NS;
	if (!made->options.longest_wait_ns)
		made->options.longest_wait_ns = LONGEST_WAIT_NS;
	made->random = options->seed;
	made->next_number = 1;
	made->lock_fd = -1;
	pthread_mutex_init(&made->mutex, NULL);
	if (options->directory) {
		made->directory = xstrdup(options->directory);
		made->options.directory = made->directory;
		status = spool_files_lock(made->directory, err);
		if (status >= 0) {
			made->lock_fd = status;
			status = find_files(made, err);
		}
	}
	if (status) {
		push_spool_free(made);
		return status;
	}
	*spool = made;
	return 0;
}

void push_spool_free(struct push_spool *spool)
{
	if (!spool)
		return;
	for (size_t i = 0; i < spool->nr; i++)
		push_request_release(&spool->entries[i].request);
	free(spool->entries);
	if (spool->lock_fd >= 0)
		close(spool->lock_fd);
	pthread_mutex_destroy(&spool->mutex);
	free(spool->directory);
	free(spool);
}

/* --- adding --- */

static struct push_request copy_of(const struct push_request *request)
{
	struct push_request copy = {.target = xstrdup(request->target),
				    .content_type = xstrdup(request->content_type)};

	buf_append(&copy.body, request->body.bytes, request->body.nr_bytes);
	return copy;
}

/* An upper bound for the size of the request's file. */
static uint64_t bytes_of(const struct push_request *request)
{
	return request->body.nr_bytes + strlen(request->target) + strlen(request->content_type) +
	       64;
}

/* Stores the entry of a new request; only the thread that adds changes next_number. */
static int keep(struct push_spool *spool, const struct push_request *request, struct entry *entry,
		struct err *err)
{
	*entry = (struct entry){.number = spool->next_number, .nr_bytes = bytes_of(request)};
	if (spool->directory)
		return spool_file_write(spool->directory, entry->number, request, &entry->nr_bytes,
					err);
	entry->request = copy_of(request);
	return 0;
}

/* Room is made before, so that the disk never has more. */
int push_spool_add(struct push_spool *spool, const struct push_request *request, struct err *err)
{
	struct entry entry;
	bool has_room;
	int status;

	pthread_mutex_lock(&spool->mutex);
	spool->counts.nr_added++;
	has_room = make_room(spool, bytes_of(request));
	if (!has_room)
		spool->counts.nr_dropped++;
	pthread_mutex_unlock(&spool->mutex);
	if (!has_room)
		return err_set(err, ERR_LIMIT, "a profile of %zu bytes has no room in the spool",
			       request->body.nr_bytes);
	status = keep(spool, request, &entry, err);
	pthread_mutex_lock(&spool->mutex);
	if (status) {
		spool->counts.nr_unkept++;
	} else {
		spool->next_number++;
		append(spool, &entry);
	}
	pthread_mutex_unlock(&spool->mutex);
	return status;
}

/* --- sending --- */

bool push_spool_due(struct push_spool *spool, uint64_t *due_ns)
{
	bool has_any;

	pthread_mutex_lock(&spool->mutex);
	has_any = spool->nr > 0;
	if (has_any)
		*due_ns = spool->due_ns;
	pthread_mutex_unlock(&spool->mutex);
	return has_any;
}

/* Marks the next request as being sent. In memory its request is borrowed until settle(). */
static enum push_step choose(struct push_spool *spool, struct push_request *request)
{
	enum push_step step = PUSH_STEP_NOTHING;

	pthread_mutex_lock(&spool->mutex);
	if (spool->nr > 0 && now(spool) < spool->due_ns) {
		step = PUSH_STEP_EARLY;
	} else if (spool->nr > 0) {
		size_t index = find(spool, spool->turn);
		const struct entry *entry = &spool->entries[index < spool->nr ? index : 0];

		spool->sending = entry->number;
		*request = entry->request;
		step = PUSH_STEP_SENT;
	}
	pthread_mutex_unlock(&spool->mutex);
	return step;
}

static void end_sending(struct push_spool *spool, uint64_t *counter)
{
	size_t index = find(spool, spool->sending);

	assert(index < spool->nr && spool->entries[index].number == spool->sending);
	if (counter) {
		take_out(spool, index);
		++*counter;
	}
	spool->sending = 0;
}

static void settle(struct push_spool *spool, const struct push_answer *answer)
{
	pthread_mutex_lock(&spool->mutex);
	switch (answer->outcome) {
	case PUSH_DELIVERED:
		end_sending(spool, &spool->counts.nr_delivered);
		spool->nr_in_row = 0;
		spool->turn = 0;
		spool->due_ns = 0;
		break;
	case PUSH_REFUSED:
		end_sending(spool, &spool->counts.nr_refused);
		break;
	case PUSH_FAILED:
	case PUSH_DENIED:
		spool->counts.nr_failures++;
		spool->turn = spool->sending + 1;
		end_sending(spool, NULL);
		spool->nr_in_row++;
		spool->due_ns = wait_after_failure(spool);
		if (spool->due_ns < answer->wait_ns)
			spool->due_ns = answer->wait_ns;
		spool->due_ns += now(spool);
		break;
	}
	pthread_mutex_unlock(&spool->mutex);
}

static void forget(struct push_spool *spool)
{
	pthread_mutex_lock(&spool->mutex);
	end_sending(spool, &spool->counts.nr_unkept);
	pthread_mutex_unlock(&spool->mutex);
}

enum push_step push_spool_step(struct push_spool *spool, struct push_answer *answer)
{
	struct push_request request = {.target = NULL};
	enum push_step step = choose(spool, &request);

	if (step != PUSH_STEP_SENT)
		return step;
	/* `sending` is changed by this thread alone. */
	if (spool->directory && spool_file_read(spool->directory, spool->sending,
						spool->options.max_bytes, &request, NULL)) {
		forget(spool);
		return PUSH_STEP_UNKEPT;
	}
	spool->options.transport.send(spool->options.transport.context, &request, answer);
	settle(spool, answer);
	if (spool->directory)
		push_request_release(&request);
	return PUSH_STEP_SENT;
}

struct push_counts push_spool_counts(struct push_spool *spool)
{
	struct push_counts counts;

	pthread_mutex_lock(&spool->mutex);
	counts = spool->counts;
	pthread_mutex_unlock(&spool->mutex);
	return counts;
}
