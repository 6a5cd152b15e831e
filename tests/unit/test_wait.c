// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/task.h"
#include "tests/unit/unit.h"
#include "wait/wait.h"

/* Memory of a made-up process, at this address. */
#define MEMORY_ADDRESS UINT64_C(0x10000)

struct memory {
	uint8_t bytes[4096];
};

static bool read_made(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	const struct memory *memory = context;
	uint64_t at = address - MEMORY_ADDRESS;

	if (at > sizeof(memory->bytes) || nr_bytes > sizeof(memory->bytes) - at)
		return false;
	memcpy(out, memory->bytes + at, nr_bytes);
	return true;
}

static struct seen_wait wait_of(struct memory *memory, int64_t nr, uint64_t first, uint64_t second,
				uint64_t third)
{
	const struct proc_syscall syscall = {
		.kind = PROC_SYSCALL_INSIDE, .nr = nr, .args = {first, second, third}};

	return wait_of_call(&syscall,
			    &(const struct wait_memory){.read = read_made, .context = memory});
}

static void put_word(struct memory *memory, size_t at, uint32_t word)
{
	memcpy(memory->bytes + at, &word, sizeof(word));
}

TEST(wait, mutexes_and_who_has_them)
{
	const uint64_t address = MEMORY_ADDRESS + 64;
	const int op = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	struct memory memory = {0};
	const struct wait_memory reader = {.read = read_made, .context = &memory};
	struct seen_wait wait;

	put_word(&memory, 64, 2);
	put_word(&memory, 72, 4711);
	wait = wait_of(&memory, SYS_futex, address, op, 2);
	assert_true(wait.is_known && wait.kind == WAIT_MUTEX && wait.number == address);
	assert_int_equal(wait.owner, 4711);
	assert_false(wait_takes_new_owner(&wait, &reader));
	put_word(&memory, 72, 0); /* between two owners */
	assert_false(wait_takes_new_owner(&wait, &reader));
	put_word(&memory, 72, 4712);
	assert_true(wait_takes_new_owner(&wait, &reader));
	assert_int_equal(wait.owner, 4712);
	assert_false(wait_takes_new_owner(&wait, &reader));
	/* Met between two owners: the next is new. */
	put_word(&memory, 72, 0);
	wait = wait_of(&memory, SYS_futex, address, op, 2);
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner);
	put_word(&memory, 72, 4711);
	assert_true(wait_takes_new_owner(&wait, &reader));
	assert_true(wait.kind == WAIT_MUTEX && wait.owner == 4711);
	/* It has been unlocked. */
	put_word(&memory, 64, 1);
	wait = wait_of(&memory, SYS_futex, address, op, 2);
	assert_true(wait.is_known && wait.kind == WAIT_FUTEX && !wait.owner && !wait.owner_at);
}

/* By a lock of the C library itself, which another thread would wait for. */
TEST(wait, read_write_locks_and_their_writers)
{
	const int op = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	const size_t offsets[] = {8, 12}; /* of readers, and of writers */
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	assert_int_equal(pthread_rwlock_wrlock(&lock), 0);
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		const uint64_t address = MEMORY_ADDRESS + 64 + offsets[i];
		struct memory memory = {0};
		struct seen_wait wait;

		memcpy(memory.bytes + 64, &lock, sizeof(lock));
		put_word(&memory, 64 + offsets[i], 3); /* as the next one to wait sets it */
		wait = wait_of(&memory, SYS_futex, address, op, 3);
		assert_true(wait.kind == WAIT_MUTEX && wait.number == address);
		assert_int_equal(wait.owner, gettid());
		put_word(&memory, 64, 8); /* a reader has it */
		wait = wait_of(&memory, SYS_futex, address, op, 3);
		assert_true(wait.is_known && wait.kind == WAIT_FUTEX && !wait.owner);
	}
	assert_int_equal(pthread_rwlock_unlock(&lock), 0);
}

TEST(wait, locks_that_the_kernel_knows_the_owner_of)
{
	struct memory memory = {0};
	struct seen_wait wait;

	put_word(&memory, 64, FUTEX_WAITERS | 4711);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 64, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG,
		       0);
	assert_true(wait.kind == WAIT_OWNED && wait.owner == 4711);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 64, FUTEX_WAIT, FUTEX_WAITERS | 4711);
	assert_true(wait.kind == WAIT_OWNED && wait.owner == 4711);
}

/* A pointer to a record with the id of a thread, and whether that has the lock. */
TEST(wait, locks_of_interpreters)
{
	const struct wait_lock lock = {.start = MEMORY_ADDRESS + 64,
				       .end = MEMORY_ADDRESS + 112,
				       .holder_at = MEMORY_ADDRESS + 16,
				       .id_offset = 8};
	const uint64_t record = MEMORY_ADDRESS + 256;
	struct memory memory = {0};
	const struct wait_memory reader = {.read = read_made, .context = &memory};
	struct seen_wait wait;

	memcpy(memory.bytes + 16, &record, sizeof(record));
	put_word(&memory, 256 + 8, 4711);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 108, FUTEX_WAIT_BITSET, 0);
	wait_look_at_lock(&wait, &lock, &reader);
	/* It was just given back. */
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner && wait.lock.end);
	assert_false(wait_takes_new_owner(&wait, &reader));
	put_word(&memory, 24, 1);
	assert_true(wait_takes_new_owner(&wait, &reader));
	assert_true(wait.kind == WAIT_OWNED && wait.owner == 4711);
	put_word(&memory, 256 + 8, 4712);
	assert_true(wait_takes_new_owner(&wait, &reader));
	assert_int_equal(wait.owner, 4712);
	/* No id of a thread, and a record that cannot be read. */
	put_word(&memory, 256 + 12, 1);
	wait_look_at_lock(&wait, &lock, &reader);
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner);
	memcpy(memory.bytes + 16, &(uint64_t){8}, sizeof(record));
	wait_look_at_lock(&wait, &lock, &reader);
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner);
	/* Another word */
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 112, FUTEX_WAIT_BITSET, 0);
	wait_look_at_lock(&wait, &lock, &reader);
	assert_false(wait.lock.end);
}

/* The record has the address of another one, of the C library, and that the id. */
TEST(wait, locks_of_interpreters_that_know_threads_by_the_c_library)
{
	const struct wait_lock lock = {.start = MEMORY_ADDRESS + 64,
				       .end = MEMORY_ADDRESS + 112,
				       .holder_at = MEMORY_ADDRESS + 16,
				       .id_offset = 8,
				       .library_id_offset = 20};
	const uint64_t record = MEMORY_ADDRESS + 256, of_library = MEMORY_ADDRESS + 128;
	struct memory memory = {0};
	const struct wait_memory reader = {.read = read_made, .context = &memory};
	struct seen_wait wait;

	memcpy(memory.bytes + 16, &record, sizeof(record));
	memcpy(memory.bytes + 256 + 8, &of_library, sizeof(of_library));
	put_word(&memory, 24, 1);
	put_word(&memory, 128 + 20, 4711);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 108, FUTEX_WAIT_BITSET, 0);
	wait_look_at_lock(&wait, &lock, &reader);
	assert_true(wait.kind == WAIT_OWNED && wait.owner == 4711);
	/* It leads to nothing. */
	memcpy(memory.bytes + 256 + 8, &(uint64_t){8}, sizeof(of_library));
	wait_look_at_lock(&wait, &lock, &reader);
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner);
}

TEST(wait, conditions_and_unreadable_memory)
{
	struct memory memory = {0};
	struct seen_wait wait;

	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + 68, FUTEX_WAIT_BITSET, 0);
	assert_true(wait.is_known && wait.kind == WAIT_FUTEX && !wait.owner);
	wait = wait_of(&memory, SYS_futex, 0x77, FUTEX_WAIT, 2);
	assert_true(wait.is_known && wait.kind == WAIT_FUTEX && !wait.owner);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS, FUTEX_WAKE, 1);
	assert_false(wait.is_known);
}

#if defined(__x86_64__)
static struct time_out time_out_of(struct memory *memory, uint64_t operation, uint64_t at,
				   int64_t seconds, int64_t ns)
{
	const int64_t time[] = {seconds, ns};
	const struct proc_syscall syscall = {
		.kind = PROC_SYSCALL_INSIDE,
		.nr = SYS_futex,
		.args = {MEMORY_ADDRESS, operation | FUTEX_PRIVATE_FLAG, 0, at}};

	memcpy(memory->bytes + 128, time, sizeof(time));
	return wait_of_call(&syscall,
			    &(const struct wait_memory){.read = read_made, .context = memory})
		.time_out;
}

TEST(wait, until_a_time_by_one_of_three_clocks)
{
	const uint64_t at = MEMORY_ADDRESS + 128;
	struct memory memory = {0};
	struct time_out time_out = time_out_of(&memory, FUTEX_WAIT, at, 2, 5);

	assert_true(time_out.kind == TIME_OUT_AFTER && time_out.ns == 2000000005);
	time_out = time_out_of(&memory, FUTEX_WAIT_BITSET, at, 3, 0);
	assert_true(time_out.kind == TIME_OUT_AT && time_out.ns == 3000000000);
	time_out = time_out_of(&memory, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, at, 3, 1);
	assert_true(time_out.kind == TIME_OUT_AT_REAL && time_out.ns == 3000000001);
	assert_int_equal(time_out_of(&memory, FUTEX_LOCK_PI, at, 3, 1).kind, TIME_OUT_AT_REAL);
	assert_int_equal(time_out_of(&memory, FUTEX_WAIT, 0, 2, 5).kind, TIME_OUT_NONE);
	assert_int_equal(time_out_of(&memory, FUTEX_WAIT, 16, 2, 5).kind, TIME_OUT_NONE);
	assert_int_equal(time_out_of(&memory, FUTEX_WAIT, at, -1, 5).kind, TIME_OUT_NONE);
	assert_int_equal(time_out_of(&memory, FUTEX_WAIT, at, INT64_MAX, 5).kind, TIME_OUT_NONE);
	assert_int_equal(time_out_of(&memory, FUTEX_WAIT, at, 2, 1000000000).kind, TIME_OUT_NONE);
	assert_int_equal(time_out_of(&memory, FUTEX_WAKE, at, 2, 5).kind, TIME_OUT_NONE);
}

TEST(wait, end_of_a_thread)
{
	const size_t record = 1024, id = record + 0x2d0;
	const uint64_t self = MEMORY_ADDRESS + record;
	struct memory memory = {0};
	struct seen_wait wait;

	put_word(&memory, id, 4711);
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + id, FUTEX_WAIT_BITSET, 4711);
	assert_true(wait.kind == WAIT_FUTEX && !wait.owner);
	memcpy(memory.bytes + record, &self, sizeof(self));
	wait = wait_of(&memory, SYS_futex, MEMORY_ADDRESS + id, FUTEX_WAIT_BITSET, 4711);
	assert_true(wait.kind == WAIT_THREAD && wait.owner == 4711 && !wait.owner_at);
}
#endif

static bool read_own(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	struct iovec here = {.iov_base = out, .iov_len = nr_bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = nr_bytes};

	(void)context;
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)nr_bytes;
}

/* The address that the kernel clears at the end of this thread, and wakes at. */
static void *say_where(void *context)
{
	uint64_t *address = context;

	if (prctl(PR_GET_TID_ADDRESS, address) < 0)
		*address = 0;
	return NULL;
}

/* As the C library of this machine has it, in a thread of our own: another one reads its record. */
TEST(wait, end_of_a_thread_of_this_library)
{
	const struct wait_memory own = {.read = read_own};
	pthread_t thread;
	uint64_t address;
	int status;

	status = pthread_create(&thread, NULL, say_where, &address);
	assert_int_equal(status, 0);
	pthread_join(thread, NULL);
	if (!address)
		skip();
	/* The record of a thread that has ended stays for the next one, with its list. */
	assert_true(wait_is_for_thread(address, &own));
	assert_false(wait_is_for_thread(address + 8, &own));
	assert_false(wait_is_for_thread((uintptr_t)&address, &own));
}

#if defined(__aarch64__)
/* The same word, whatever tag the pointer to it has. */
TEST(wait, pointers_with_a_tag)
{
	const uint64_t tag = UINT64_C(0xb4) << 56;
	const int op = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	struct memory memory = {0};
	struct seen_wait wait;

	put_word(&memory, 64, 2);
	put_word(&memory, 72, 4711);
	wait = wait_of(&memory, SYS_futex, tag | (MEMORY_ADDRESS + 64), op, 2);
	assert_true(wait.kind == WAIT_MUTEX && wait.number == MEMORY_ADDRESS + 64);
	assert_int_equal(wait.owner, 4711);
}
#endif

TEST(wait, descriptors)
{
	struct pollfd polled[] = {{.fd = 7}, {.fd = -1}, {.fd = 9}};
	struct memory memory = {0};
	struct seen_wait wait;
	fd_set set;

	wait = wait_of(&memory, SYS_read, 3, 0, 0);
	assert_true(wait.is_known && wait.kind == WAIT_FILE && wait.number == 3);
	assert_false(wait_of(&memory, SYS_read, UINT64_MAX, 0, 0).is_known);
	memcpy(memory.bytes, polled, sizeof(polled));
	wait = wait_of(&memory, SYS_ppoll, MEMORY_ADDRESS, 2, 0);
	assert_true(wait.kind == WAIT_FILE && wait.number == 7);
	wait = wait_of(&memory, SYS_ppoll, MEMORY_ADDRESS, 3, 0);
	assert_true(wait.kind == WAIT_FILES && wait.number == 2);
	assert_string_equal(wait.object, "7, 9");
	seen_wait_release(&wait);
	/* Too many to be looked at, none, and none that can be read. */
	wait = wait_of(&memory, SYS_ppoll, MEMORY_ADDRESS, 5000, 0);
	assert_true(wait.is_known && wait.kind == WAIT_FILES && wait.number == 5000);
	assert_false(wait_of(&memory, SYS_ppoll, 0, 0, 0).is_known);
	assert_null(wait.object);
	FD_ZERO(&set);
	FD_SET(70, &set);
	memcpy(memory.bytes, &set, sizeof(set));
	wait = wait_of(&memory, SYS_pselect6, 71, MEMORY_ADDRESS, 0);
	assert_true(wait.kind == WAIT_FILE && wait.number == 70);
	assert_false(wait_of(&memory, SYS_pselect6, 0, 0, 0).is_known);
	assert_false(wait_of(&memory, SYS_nanosleep, 0, 0, 0).is_known);
}

TEST(wait, many_descriptors_are_told_in_part)
{
	struct pollfd polled[20];
	struct memory memory = {0};
	struct seen_wait wait;

	for (int i = 0; i < 20; i++)
		polled[i] = (struct pollfd){.fd = i};
	memcpy(memory.bytes, polled, sizeof(polled));
	wait = wait_of(&memory, SYS_ppoll, MEMORY_ADDRESS, 20, 0);
	assert_int_equal(wait.number, 20);
	assert_string_equal(wait.object, "0, 1, 2, 3, 4, 5, 6, 7, ...");
	seen_wait_release(&wait);
}
