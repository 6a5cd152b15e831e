// SPDX-License-Identifier: GPL-2.0-or-later
/* The wait of a system call: the futex and its owner, or the descriptor. */
#include "wait/wait.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/task.h"

void seen_wait_release(struct seen_wait *wait)
{
	free(wait->object);
	*wait = (struct seen_wait){0};
}

/* --- descriptors --- */

/* Calls that wait for the descriptor in their first argument. */
static bool has_descriptor(int64_t nr)
{
	static const short calls[] = {
		SYS_accept,	    SYS_accept4,	 SYS_connect,	 SYS_copy_file_range,
		SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		SYS_fallocate,	    SYS_fcntl,		 SYS_fdatasync,	 SYS_flock,
		SYS_fsync,	    SYS_ftruncate,	 SYS_getdents64,
#ifdef SYS_io_uring_enter
		SYS_io_uring_enter,
#endif
		SYS_ioctl,	    SYS_pread64,	 SYS_preadv,	 SYS_preadv2,
		SYS_pwrite64,	    SYS_pwritev,	 SYS_pwritev2,	 SYS_read,
		SYS_readv,	    SYS_recvfrom,	 SYS_recvmmsg,	 SYS_recvmsg,
		SYS_sendfile,	    SYS_sendmmsg,	 SYS_sendmsg,	 SYS_sendto,
		SYS_splice,	    SYS_sync_file_range, SYS_syncfs,	 SYS_tee,
		SYS_vmsplice,	    SYS_write,		 SYS_writev,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (nr == calls[i])
			return true;
	}
	return false;
}

static struct seen_wait wait_for_file(uint64_t fd)
{
	return (struct seen_wait){.is_known = fd <= INT_MAX, .kind = WAIT_FILE, .number = fd};
}

/* At most this many are listed, and this many are read. */
#define FILES_TOLD    8
#define FILES_MAX     64
#define SELECTED_MAX  1024
#define BITS_PER_WORD 64

struct files {
	size_t nr;
	uint64_t first;
	struct buf text; /* "3, 5, 7" */
};

static void add_file(struct files *files, uint64_t fd)
{
	if (!files->nr)
		files->first = fd;
	if (files->nr == FILES_TOLD)
		buf_append_str(&files->text, ", ...");
	else if (files->nr < FILES_TOLD)
		buf_printf(&files->text, "%s%llu", files->nr ? ", " : "", (unsigned long long)fd);
	files->nr++;
}

static struct seen_wait wait_for_files(struct files *files)
{
	struct seen_wait wait = {.is_known = files->nr, .kind = WAIT_FILES, .number = files->nr};

	if (files->nr == 1)
		wait = wait_for_file(files->first);
	else if (files->text.nr_bytes)
		wait.object = xstrdup(buf_str(&files->text));
	buf_release(&files->text);
	return wait;
}

static struct seen_wait wait_of_poll(const struct proc_syscall *syscall,
				     const struct wait_memory *memory)
{
	uint64_t nr = syscall->args[1];
	struct pollfd polled[FILES_MAX];
	struct files files = {0};

	if (!nr || nr > FILES_MAX ||
	    !memory->read(memory->context, syscall->args[0], polled, nr * sizeof(*polled)))
		return (struct seen_wait){.is_known = nr, .kind = WAIT_FILES, .number = nr};
	for (uint64_t i = 0; i < nr; i++) {
		if (polled[i].fd >= 0)
			add_file(&files, (uint64_t)polled[i].fd);
	}
	return wait_for_files(&files);
}

static struct seen_wait wait_of_select(const struct proc_syscall *syscall,
				       const struct wait_memory *memory)
{
	uint64_t nr_words = (syscall->args[0] + BITS_PER_WORD - 1) / BITS_PER_WORD;
	uint64_t set[SELECTED_MAX / BITS_PER_WORD], all[SELECTED_MAX / BITS_PER_WORD] = {0};
	struct files files = {0};

	if (syscall->args[0] > SELECTED_MAX)
		return (struct seen_wait){0};
	for (int i = 1; i <= 3; i++) {
		if (!syscall->args[i])
			continue;
		if (!memory->read(memory->context, syscall->args[i], set, nr_words * sizeof(*set)))
			return (struct seen_wait){0};
		for (uint64_t word = 0; word < nr_words; word++)
			all[word] |= set[word];
	}
	for (uint64_t fd = 0; fd < syscall->args[0]; fd++) {
		if (all[fd / BITS_PER_WORD] >> fd % BITS_PER_WORD & 1)
			add_file(&files, fd);
	}
	return wait_for_files(&files);
}

/* --- futexes --- */

/* futex(2): the bits of its second argument for the operation, and the waiting operations. */
#define FUTEX_OPERATION	      0x7f
#define FUTEX_DOES_WAIT	      0
#define FUTEX_DOES_LOCK_PI    6
#define FUTEX_DOES_WAIT_BITS  9
#define FUTEX_DOES_REQUEUE_PI 11
#define FUTEX_DOES_LOCK_PI2   13
#define FUTEX_CLOCK_REAL      0x100 /* a moment, rather than a length, is one of CLOCK_REALTIME */
/* In the word of a lock that the kernel knows: other threads wait; the owner. */
#define FUTEX_HAS_WAITERS UINT32_C(0x80000000)
#define FUTEX_OWNER	  UINT32_C(0x3fffffff)
/* The GNU C library: a mutex with waiters; its owner is two words after it. */
#define MUTEX_IS_CONTENDED 2
#define MUTEX_OWNER_BYTES  8
/*
 * Read-write locks of the C library: the flags; eight bytes after them the word at which readers
 * wait while a writer has the lock; then the word for writers; then the writer.
 */
#define RWLOCK_IS_WAITED_FOR 3
#define RWLOCK_HAS_WRITER    2
#define RWLOCK_READERS_BYTES 8
#define RWLOCK_WRITERS_BYTES 12
#define RWLOCK_WRITER_BYTES  24

static uint32_t read_word(const struct wait_memory *memory, uint64_t address)
{
	uint32_t word;

	return memory->read(memory->context, address, &word, sizeof(word)) ? word : 0;
}

static void set_owner(struct seen_wait *wait, enum wait_kind kind, uint32_t owner, uint64_t at)
{
	wait->owner = (pid_t)(owner & FUTEX_OWNER);
	wait->owner_at = at; /* it has no owner now, but will have */
	if (wait->owner)
		wait->kind = kind;
}

static void look_for_writer(struct seen_wait *wait, const struct wait_memory *memory)
{
	uint64_t offset = wait->number % 8 ? RWLOCK_WRITERS_BYTES : RWLOCK_READERS_BYTES;
	uint64_t address = wait->number - offset;
	uint32_t words[1 + RWLOCK_WRITER_BYTES / sizeof(uint32_t)];

	if (memory->read(memory->context, address, words, sizeof(words)) &&
	    words[0] & RWLOCK_HAS_WRITER && words[offset / sizeof(*words)] == RWLOCK_IS_WAITED_FOR)
		set_owner(wait, WAIT_MUTEX, words[RWLOCK_WRITER_BYTES / sizeof(*words)],
			  address + RWLOCK_WRITER_BYTES);
}

/* Most conditions and semaphores expect 0: then no memory is read. */
static void look_for_owner(struct seen_wait *wait, uint32_t expected,
			   const struct wait_memory *memory)
{
	uint64_t address = wait->number;
	uint32_t words[1 + MUTEX_OWNER_BYTES / sizeof(uint32_t)];

	if (!expected || !memory->read(memory->context, address, words, sizeof(words)) ||
	    words[0] != expected)
		return;
	if (expected & FUTEX_HAS_WAITERS)
		set_owner(wait, WAIT_OWNED, expected, address);
	else if (expected == MUTEX_IS_CONTENDED)
		set_owner(wait, WAIT_MUTEX, words[MUTEX_OWNER_BYTES / sizeof(*words)],
			  address + MUTEX_OWNER_BYTES);
	else if (expected == RWLOCK_IS_WAITED_FOR)
		look_for_writer(wait, memory);
	else if (wait_is_for_thread(address, memory))
		set_owner(wait, WAIT_THREAD, expected, 0);
}

/* A later time is as good as none: nanoseconds could overflow. */
#define TIME_OUT_MAX_S (INT64_C(1) << 33)

static struct time_out time_out_of_futex(const struct proc_syscall *syscall,
					 const struct wait_memory *memory)
{
	bool is_real = syscall->args[1] & FUTEX_CLOCK_REAL;
	enum time_out_kind kind = TIME_OUT_NONE;
	struct {
		int64_t s, ns;
	} time;

	switch (syscall->args[1] & FUTEX_OPERATION) {
	case FUTEX_DOES_WAIT:
		kind = is_real ? TIME_OUT_NONE : TIME_OUT_AFTER;
		break;
	case FUTEX_DOES_LOCK_PI:
		kind = TIME_OUT_AT_REAL;
		break;
	case FUTEX_DOES_LOCK_PI2:
	case FUTEX_DOES_WAIT_BITS:
		kind = is_real ? TIME_OUT_AT_REAL : TIME_OUT_AT;
		break;
	}
	if (kind == TIME_OUT_NONE || !syscall->args[3] ||
	    !memory->read(memory->context, syscall->args[3], &time, sizeof(time)) || time.s < 0 ||
	    time.s > TIME_OUT_MAX_S || time.ns < 0 || time.ns >= (int64_t)NS_PER_SEC)
		return (struct time_out){.kind = TIME_OUT_NONE};
	return (struct time_out){kind, (uint64_t)time.s * NS_PER_SEC + (uint64_t)time.ns};
}

static struct seen_wait wait_of_futex(const struct proc_syscall *syscall,
				      const struct wait_memory *memory)
{
	struct seen_wait wait = {.kind = WAIT_FUTEX,
				 .number = address_of_pointer(syscall->args[0])};

	switch (syscall->args[1] & FUTEX_OPERATION) {
	case FUTEX_DOES_LOCK_PI:
	case FUTEX_DOES_LOCK_PI2:
		wait.is_known = true;
		set_owner(&wait, WAIT_OWNED, read_word(memory, wait.number), wait.number);
		break;
	case FUTEX_DOES_WAIT:
	case FUTEX_DOES_WAIT_BITS:
		wait.is_known = true;
		look_for_owner(&wait, (uint32_t)syscall->args[2], memory);
		break;
	case FUTEX_DOES_REQUEUE_PI:
		wait.is_known = true;
		break;
	}
	wait.time_out = time_out_of_futex(syscall, memory);
	return wait;
}

struct seen_wait wait_of_call(const struct proc_syscall *syscall, const struct wait_memory *memory)
{
	if (syscall->kind != PROC_SYSCALL_INSIDE)
		return (struct seen_wait){0};
	switch (syscall->nr) {
	case SYS_futex:
		return wait_of_futex(syscall, memory);
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return wait_of_poll(syscall, memory);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return wait_of_select(syscall, memory);
	}
	return has_descriptor(syscall->nr) ? wait_for_file(syscall->args[0])
					   : (struct seen_wait){0};
}

struct holder {
	uint64_t record;
	uint32_t has_it;
};

static bool read_holder(const struct wait_lock *lock, const struct wait_memory *memory,
			struct holder *holder)
{
	uint8_t bytes[sizeof(uint64_t) + sizeof(uint32_t)];

	if (!memory->read(memory->context, lock->holder_at, bytes, sizeof(bytes)))
		return false;
	memcpy(&holder->record, bytes, sizeof(holder->record));
	memcpy(&holder->has_it, bytes + sizeof(uint64_t), sizeof(holder->has_it));
	return holder->record && holder->has_it == 1;
}

static bool read_id(const struct wait_lock *lock, const struct wait_memory *memory, uint64_t record,
		    uint64_t *id)
{
	uint32_t word;

	if (!memory->read(memory->context, record + lock->id_offset, id, sizeof(*id)))
		return false;
	if (!lock->library_id_offset)
		return true;
	if (!memory->read(memory->context, *id + lock->library_id_offset, &word, sizeof(word)))
		return false;
	*id = word;
	return true;
}

/* 0: nobody has it, or another one just took it. */
static pid_t owner_of(const struct wait_lock *lock, const struct wait_memory *memory)
{
	struct holder holder, again;
	uint64_t id;

	if (!read_holder(lock, memory, &holder) || !read_id(lock, memory, holder.record, &id) ||
	    !read_holder(lock, memory, &again) || again.record != holder.record)
		return 0;
	return id <= FUTEX_OWNER ? (pid_t)id : 0;
}

void wait_look_at_lock(struct seen_wait *wait, const struct wait_lock *lock,
		       const struct wait_memory *memory)
{
	if (!wait->is_known || !wait_is_of_memory(wait->kind) || wait->number < lock->start ||
	    wait->number >= lock->end)
		return;
	wait->lock = *lock;
	wait->owner_at = 0;
	wait->owner = owner_of(lock, memory);
	wait->kind = wait->owner ? WAIT_OWNED : WAIT_FUTEX;
}

bool wait_takes_new_owner(struct seen_wait *wait, const struct wait_memory *memory)
{
	pid_t owner;

	if (wait->lock.end)
		owner = owner_of(&wait->lock, memory);
	else if (wait->owner_at)
		owner = (pid_t)(read_word(memory, wait->owner_at) & FUTEX_OWNER);
	else
		return false;
	if (!owner || owner == wait->owner)
		return false;
	wait->owner = owner;
	/* The lock had no owner at first. */
	if (wait->kind == WAIT_FUTEX)
		wait->kind =
			wait->lock.end || wait->owner_at == wait->number ? WAIT_OWNED : WAIT_MUTEX;
	return true;
}
