// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that pushes. */
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "push/pusher.h"
#include "push/request.h"
#include "push/spool.h"
#include "tests/unit/unit.h"

struct fake {
	_Atomic enum push_outcome outcome;
	atomic_bool give_up;
	bool is_endless; /* sends until it is to give up */
	_Atomic unsigned int nr_sent;
};

static void fake_send(void *context, const struct push_request *request, struct push_answer *answer)
{
	struct fake *fake = context;

	(void)request;
	fake->nr_sent++;
	while (fake->is_endless && !fake->give_up)
		usleep(1000);
	*answer = (struct push_answer){.outcome = fake->is_endless ? PUSH_FAILED : fake->outcome};
	strcpy(answer->words, "no");
}

static struct push_spool *open_spool(struct fake *fake)
{
	const struct push_spool_options options = {.transport = {fake_send, fake},
						   .first_wait_ns = NS_PER_MS,
						   .longest_wait_ns = NS_PER_MS};
	struct push_spool *spool;

	assert_int_equal(push_spool_open(&spool, &options, NULL), 0);
	return spool;
}

static void add(struct push_spool *spool)
{
	struct push_request request = {.target = (char *)(uintptr_t) "/x",
				       .content_type = (char *)(uintptr_t) "x"};

	assert_int_equal(push_spool_add(spool, &request, NULL), 0);
}

TEST(pusher, delivers_all_before_it_ends)
{
	struct fake fake = {.outcome = PUSH_DELIVERED};
	struct push_spool *spool = open_spool(&fake);
	struct push_answer answer;
	struct pusher *pusher;

	assert_int_equal(pusher_start(&pusher, spool, &fake.give_up, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		add(spool);
		pusher_wake(pusher);
	}
	assert_false(pusher_trouble(pusher, &answer));
	pusher_wait(pusher, clock_monotonic_ns() + 60 * NS_PER_SEC, NULL);
	pusher_end(pusher);
	assert_int_equal(push_spool_counts(spool).nr_delivered, 1000);
	push_spool_free(spool);
}

TEST(pusher, tries_again_when_it_is_due)
{
	struct fake fake = {.outcome = PUSH_FAILED};
	struct push_spool *spool = open_spool(&fake);
	struct push_answer answer;
	struct pusher *pusher;

	add(spool);
	assert_int_equal(pusher_start(&pusher, spool, &fake.give_up, NULL), 0);
	while (fake.nr_sent < 3)
		usleep(1000);
	assert_true(pusher_trouble(pusher, &answer));
	assert_string_equal(answer.words, "no");
	fake.outcome = PUSH_DELIVERED;
	pusher_wait(pusher, clock_monotonic_ns() + 60 * NS_PER_SEC, NULL);
	pusher_end(pusher);
	assert_int_equal(push_spool_counts(spool).nr_delivered, 1);
	push_spool_free(spool);
}

/* However long the receiver takes. */
TEST(pusher, leaves_what_it_has_no_time_for)
{
	struct fake fake = {.is_endless = true};
	struct push_spool *spool = open_spool(&fake);
	struct pusher *pusher;

	add(spool);
	add(spool);
	assert_int_equal(pusher_start(&pusher, spool, &fake.give_up, NULL), 0);
	while (fake.nr_sent == 0)
		usleep(1000);
	pusher_wait(pusher, clock_monotonic_ns(), NULL);
	pusher_end(pusher);
	assert_int_equal(fake.nr_sent, 1);
	assert_int_equal(push_spool_counts(spool).nr_left, 2);
	push_spool_free(spool);
}
