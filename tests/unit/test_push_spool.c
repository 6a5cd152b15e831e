// SPDX-License-Identifier: GPL-2.0-or-later
/* The spool, with a clock and a receiver of the test's. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "push/request.h"
#include "push/spool.h"
#include "push/spool_file_priv.h"
#include "tests/unit/unit.h"

#define NR_PROFILES 10000

/* A receiver that answers as it is told, and remembers what came. */
struct fake {
	uint64_t now_ns;
	enum push_outcome outcome;
	uint64_t wait_ns;
	bool is_unreliable; /* a third of the time it fails, in half of these with the request kept
			     */
	unsigned int random;
	uint64_t nr_sent;
	char last[32];
	uint8_t nr_of[NR_PROFILES + 1]; /* how often each request came */
	struct push_spool *spool;	/* to be added to in the middle of a request */
	const struct push_request *added;
};

static uint64_t fake_now(void *context)
{
	return ((struct fake *)context)->now_ns;
}

static enum push_outcome unreliable(struct fake *fake, bool *kept)
{
	unsigned int drawn = (fake->random = fake->random * 1103515245 + 12345) >> 16 & 0x7fff;

	*kept = drawn % 6 != 0;
	return drawn % 3 == 0 ? PUSH_FAILED : PUSH_DELIVERED;
}

static void fake_send(void *context, const struct push_request *request, struct push_answer *answer)
{
	struct fake *fake = context;
	bool kept = true;
	enum push_outcome outcome = fake->is_unreliable ? unreliable(fake, &kept) : fake->outcome;

	if (fake->added)
		assert_int_equal(push_spool_add(fake->spool, fake->added, NULL), 0);
	fake->nr_sent++;
	snprintf(fake->last, sizeof(fake->last), "%s", request->target);
	if (kept && request->target[1] >= '0' && request->target[1] <= '9')
		fake->nr_of[atoi(request->target + 1)]++;
	*answer = (struct push_answer){.outcome = outcome, .wait_ns = fake->wait_ns};
}

static struct push_spool *open_spool(struct fake *fake, const char *directory, uint64_t max_bytes)
{
	struct push_spool_options options = {.directory = directory,
					     .max_bytes = max_bytes,
					     .transport = {fake_send, fake},
					     .now_ns = fake_now,
					     .now_context = fake,
					     .seed = 1,
					     .first_wait_ns = 1000,
					     .longest_wait_ns = 8000};
	struct push_spool *spool = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(push_spool_open(&spool, &options, &err), 0);
	return spool;
}

static void add(struct push_spool *spool, const char *target, const char *body)
{
	struct push_request request = {.target = (char *)(uintptr_t)target,
				       .content_type = (char *)(uintptr_t) "text/x"};

	buf_append_str(&request.body, body);
	assert_int_equal(push_spool_add(spool, &request, NULL), 0);
	buf_release(&request.body);
}

static enum push_step step(struct push_spool *spool)
{
	struct push_answer answer;

	return push_spool_step(spool, &answer);
}

static void remove_directory(const char *directory)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;

	while ((entry = readdir(entries)))
		unlinkat(dirfd(entries), entry->d_name, 0);
	closedir(entries);
	rmdir(directory);
}

static size_t nr_files(const char *directory)
{
	DIR *entries = opendir(directory);
	size_t nr = 0;

	while (readdir(entries))
		nr++;
	closedir(entries);
	return nr - 3; /* ".", ".." and "lock" */
}

TEST(push_spool, oldest_first_then_the_others_after_failures)
{
	struct fake fake = {.outcome = PUSH_DELIVERED};
	struct push_spool *spool = open_spool(&fake, NULL, 0);

	assert_int_equal(step(spool), PUSH_STEP_NOTHING);
	add(spool, "/a", "");
	add(spool, "/b", "");
	add(spool, "/c", "");
	fake.outcome = PUSH_FAILED;
	step(spool);
	assert_string_equal(fake.last, "/a");
	assert_int_equal(step(spool), PUSH_STEP_EARLY);
	fake.now_ns += 1000;
	step(spool);
	assert_string_equal(fake.last, "/b");
	fake.now_ns += 2000;
	fake.outcome = PUSH_DELIVERED;
	step(spool);
	assert_string_equal(fake.last, "/c");
	step(spool);
	assert_string_equal(fake.last, "/a");
	fake.outcome = PUSH_REFUSED;
	step(spool);
	assert_string_equal(fake.last, "/b");
	assert_int_equal(step(spool), PUSH_STEP_NOTHING);
	assert_int_equal(push_spool_counts(spool).nr_delivered, 2);
	assert_int_equal(push_spool_counts(spool).nr_refused, 1);
	assert_int_equal(push_spool_counts(spool).nr_failures, 2);
	assert_int_equal(push_spool_counts(spool).left_bytes, 0);
	push_spool_free(spool);
}

/* Doubled up to the longest, less up to a half at random; begun again by a delivery. */
TEST(push_spool, waits)
{
	static const uint64_t waits[] = {1000, 2000, 4000, 8000, 8000, 8000};
	struct fake fake = {.outcome = PUSH_DENIED};
	struct push_spool *spool = open_spool(&fake, NULL, 0);
	uint64_t due, shorter = 0;

	add(spool, "/a", "");
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		step(spool);
		assert_true(push_spool_due(spool, &due));
		assert_in_range(due - fake.now_ns, waits[i] / 2, waits[i]);
		shorter += waits[i] - (due - fake.now_ns);
		fake.now_ns = due;
	}
	assert_true(shorter > 0);
	fake.wait_ns = 100000; /* the receiver's wish */
	step(spool);
	assert_true(push_spool_due(spool, &due));
	assert_int_equal(due - fake.now_ns, 100000);
	fake.now_ns = due;
	fake.wait_ns = 0;
	fake.outcome = PUSH_DELIVERED;
	step(spool);
	assert_false(push_spool_due(spool, &due));
	fake.outcome = PUSH_FAILED;
	add(spool, "/b", "");
	step(spool);
	assert_true(push_spool_due(spool, &due));
	assert_in_range(due - fake.now_ns, 500, 1000);
	push_spool_free(spool);
}

TEST(push_spool, drops_the_oldest_for_room)
{
	struct fake fake = {.outcome = PUSH_DELIVERED};
	struct push_spool *spool = open_spool(&fake, NULL, 300);
	struct push_request large = {.target = (char *)(uintptr_t) "/l",
				     .content_type = (char *)(uintptr_t) "x"};
	struct err err = ERR_INIT;

	for (char name[] = "/a"; name[1] <= 'f'; name[1]++)
		add(spool, name, "0123456789");
	assert_int_equal(push_spool_counts(spool).nr_left, 3);
	assert_int_equal(push_spool_counts(spool).nr_dropped, 3);
	step(spool);
	assert_string_equal(fake.last, "/d");
	buf_extend(&large.body, 300);
	assert_int_equal(push_spool_add(spool, &large, &err), ERR_LIMIT);
	assert_int_equal(push_spool_counts(spool).nr_dropped, 6);
	assert_int_equal(push_spool_counts(spool).nr_left, 0);
	buf_release(&large.body);
	push_spool_free(spool);
}

/* It is not dropped for others that come meanwhile. */
TEST(push_spool, keeps_what_is_being_sent)
{
	struct push_request other = {.target = (char *)(uintptr_t) "/other",
				     .content_type = (char *)(uintptr_t) "x"};
	struct fake fake = {.outcome = PUSH_FAILED};
	struct push_spool *spool = open_spool(&fake, NULL, 200);

	add(spool, "/a", "0123456789");
	add(spool, "/b", "0123456789");
	fake.spool = spool;
	fake.added = &other;
	step(spool);
	fake.added = NULL;
	assert_int_equal(push_spool_counts(spool).nr_dropped, 1);
	fake.now_ns += 1000;
	fake.outcome = PUSH_DELIVERED;
	step(spool);
	assert_string_equal(fake.last, "/other");
	step(spool);
	assert_string_equal(fake.last, "/a");
	assert_int_equal(step(spool), PUSH_STEP_NOTHING);
	push_spool_free(spool);
}

TEST(push_spool, on_disk_is_whole_bounded_and_found_again)
{
	char directory[] = "/tmp/profc-spool-XXXXXX", path[96];
	struct fake fake = {.outcome = PUSH_FAILED};
	struct push_spool *spool, *second = NULL;
	struct push_spool_options options = {.directory = directory};
	struct err err = ERR_INIT;

	assert_non_null(mkdtemp(directory));
	spool = open_spool(&fake, directory, 0);
	assert_int_equal(push_spool_open(&second, &options, &err), ERR_LIMIT);
	add(spool, "/a", "one");
	add(spool, "/b", "two");
	add(spool, "/c", "three");
	step(spool);
	assert_int_equal(nr_files(directory), 3);
	push_spool_free(spool);

	/* The file of a killed profc is removed; a damaged one is counted. */
	snprintf(path, sizeof(path), "%s/0000000000000009.push.1-0", directory);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	snprintf(path, sizeof(path), "%s/0000000000000002.push", directory);
	assert_int_equal(truncate(path, 40), 0);
	spool = open_spool(&fake, directory, 0);
	assert_int_equal(nr_files(directory), 3);
	assert_int_equal(push_spool_counts(spool).nr_found, 3);
	add(spool, "/d", "four");
	fake.outcome = PUSH_DELIVERED;
	assert_int_equal(step(spool), PUSH_STEP_SENT);
	assert_string_equal(fake.last, "/a");
	assert_int_equal(step(spool), PUSH_STEP_UNKEPT);
	assert_int_equal(step(spool), PUSH_STEP_SENT);
	assert_string_equal(fake.last, "/c");
	assert_int_equal(step(spool), PUSH_STEP_SENT);
	assert_string_equal(fake.last, "/d");
	assert_int_equal(nr_files(directory), 0);
	push_spool_free(spool);

	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(push_spool_open(&second, &options, &err), ERR_PERMISSION);
	remove_directory(directory);
}

static int parse(const char *text, struct push_request *request)
{
	return spool_file_parse(text, strlen(text), request, NULL);
}

TEST(push_spool, files)
{
	struct push_request request = {.target = (char *)(uintptr_t) "/x?a=1",
				       .content_type = (char *)(uintptr_t) "a/b; c=d"};
	struct buf text = {0};

	buf_append(&request.body, "\n\0x", 3);
	spool_file_append(&text, &request);
	buf_release(&request.body);
	assert_int_equal(spool_file_parse(text.bytes, text.nr_bytes, &request, NULL), 0);
	assert_string_equal(request.target, "/x?a=1");
	assert_string_equal(request.content_type, "a/b; c=d");
	assert_int_equal(request.body.nr_bytes, 3);
	assert_memory_equal(request.body.bytes, "\n\0x", 3);
	push_request_release(&request);
	for (size_t i = 0; i < text.nr_bytes; i++)
		assert_true(spool_file_parse(text.bytes, i, &request, NULL) < 0);
	buf_release(&text);
	assert_int_equal(parse("profc-push 2\ntarget /\ntype x\nbytes 0\n\n", &request),
			 ERR_CORRUPT);
	assert_int_equal(parse("profc-push 1\ntarget @evil/\ntype x\nbytes 0\n\n", &request),
			 ERR_CORRUPT);
	assert_int_equal(parse("profc-push 1\ntarget /\ntype x\rA: b\nbytes 0\n\n", &request),
			 ERR_CORRUPT);
	assert_int_equal(parse("profc-push 1\ntarget /\ntype x\nbytes -1\n\n", &request),
			 ERR_TRUNCATED);
	assert_int_equal(parse("profc-push 1\ntarget /\ntype x\nbytes 0\n\nmore", &request),
			 ERR_TRUNCATED);
}

/* Each arrives at least once or is counted, and sums are equal: from 10,000, on disk. */
static void push_many(uint64_t max_bytes, unsigned int steps_between, bool *dropped)
{
	char directory[] = "/tmp/profc-spool-XXXXXX", target[16];
	struct fake *fake = calloc(1, sizeof(*fake));
	struct push_counts counts;
	struct push_spool *spool;
	uint64_t nr_arrived = 0, sum_arrived = 0, sum_dropped = 0, due;

	assert_non_null(mkdtemp(directory));
	fake->is_unreliable = true;
	spool = open_spool(fake, directory, max_bytes);
	for (int i = 1; i <= NR_PROFILES; i++) {
		snprintf(target, sizeof(target), "/%d", i);
		add(spool, target, "body");
		for (unsigned int j = 0; j < steps_between; j++)
			step(spool);
		fake->now_ns += 1500;
	}
	while (push_spool_due(spool, &due)) {
		fake->now_ns = due > fake->now_ns ? due : fake->now_ns;
		step(spool);
	}
	counts = push_spool_counts(spool);
	for (int i = 1; i <= NR_PROFILES; i++) {
		nr_arrived += fake->nr_of[i] > 0;
		*(fake->nr_of[i] ? &sum_arrived : &sum_dropped) += i;
	}
	assert_int_equal(counts.nr_added, NR_PROFILES);
	assert_int_equal(counts.nr_delivered + counts.nr_dropped, NR_PROFILES);
	assert_int_equal(counts.nr_refused + counts.nr_unkept + counts.nr_left + counts.left_bytes,
			 0);
	/* A profile whose answer was lost has arrived, also if it was dropped then. */
	assert_in_range(nr_arrived, counts.nr_delivered, counts.nr_delivered + counts.nr_dropped);
	assert_int_equal(sum_arrived + sum_dropped, (uint64_t)NR_PROFILES * (NR_PROFILES + 1) / 2);
	if (counts.nr_dropped == 0)
		assert_int_equal(nr_arrived, NR_PROFILES);
	assert_in_range(counts.nr_failures * 100 / fake->nr_sent, 30, 36);
	assert_int_equal(nr_files(directory), 0);
	*dropped = counts.nr_dropped > 0;
	push_spool_free(spool);
	remove_directory(directory);
	free(fake);
}

TEST(push_spool, many_through_a_receiver_that_fails_a_third_of_the_time)
{
	bool dropped;

	push_many(0, 1, &dropped);
	assert_false(dropped);
	push_many(20 * 100, 1, &dropped);
	assert_true(dropped);
}

/* Adds and sends for ever, with room for some ten. From its second file on one is always there. */
static void run_until_killed(const char *directory, int told)
{
	struct fake fake = {.outcome = PUSH_DELIVERED};
	struct push_spool *spool = open_spool(&fake, directory, 1000);

	for (int i = 0;; i++) {
		add(spool, "/x", "0123456789abcdefghijklmnopqrstuvwxyz");
		if (i % 3 == 0)
			step(spool);
		if (i == 1)
			assert_int_equal(write(told, "", 1), 1);
	}
}

/* A slow machine may not get to a file in so short a time: every other one is given it. */
TEST(push_spool, killed_at_any_moment_leaves_whole_files)
{
	char directory[] = "/tmp/profc-spool-XXXXXX";
	struct fake fake = {.outcome = PUSH_DELIVERED};
	uint64_t nr_found = 0;

	assert_non_null(mkdtemp(directory));
	for (unsigned int i = 0; i < 50; i++) {
		struct push_spool *spool;
		int told[2];
		pid_t child;
		char byte;

		assert_int_equal(pipe(told), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			run_until_killed(directory, told[1]);
		close(told[1]);
		if (i % 2)
			assert_int_equal(read(told[0], &byte, 1), 1);
		usleep(1000 + i * 137);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(told[0]);
		spool = open_spool(&fake, directory, 1000);
		nr_found += push_spool_counts(spool).nr_found;
		assert_true(push_spool_counts(spool).left_bytes <= 1000);
		while (step(spool) != PUSH_STEP_NOTHING)
			;
		assert_int_equal(push_spool_counts(spool).nr_unkept, 0);
		assert_int_equal(nr_files(directory), 0);
		push_spool_free(spool);
	}
	assert_true(nr_found > 0);
	remove_directory(directory);
}

/* One thread adds while another one sends. */
static void *add_all(void *context)
{
	char target[16];

	for (int i = 1; i <= NR_PROFILES; i++) {
		snprintf(target, sizeof(target), "/%d", i);
		add(context, target, "body");
	}
	return NULL;
}

TEST(push_spool, two_threads)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct push_spool *spool = open_spool(fake, NULL, 5000);
	struct push_counts counts;
	pthread_t adder;
	uint64_t nr_arrived = 0;

	fake->outcome = PUSH_DELIVERED;
	assert_int_equal(pthread_create(&adder, NULL, add_all, spool), 0);
	do {
		step(spool);
		counts = push_spool_counts(spool);
	} while (counts.nr_added < NR_PROFILES);
	pthread_join(adder, NULL);
	while (step(spool) != PUSH_STEP_NOTHING)
		;
	counts = push_spool_counts(spool);
	for (int i = 1; i <= NR_PROFILES; i++)
		nr_arrived += fake->nr_of[i];
	assert_int_equal(nr_arrived, counts.nr_delivered);
	assert_int_equal(counts.nr_delivered + counts.nr_dropped, NR_PROFILES);
	push_spool_free(spool);
	free(fake);
}
