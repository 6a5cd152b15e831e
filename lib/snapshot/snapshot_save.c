// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots as bytes, for tests and for the corpus of the fuzzer. */
#include "snapshot/snapshot_save.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "snapshot/snapshot.h"

#define MAGIC	       UINT32_C(0x314e5350) /* "PSN1" */
#define NAME_MAX_BYTES 16

void snapshot_save(const struct snapshot *snapshot, struct buf *out)
{
	const struct arch_regs *arch = arch_regs(snapshot->arch);

	buf_append_u32(out, MAGIC);
	buf_append_uleb(out, strlen(arch->name));
	buf_append_str(out, arch->name);
	buf_append_uleb(out, snapshot->state);
	buf_append_uleb(out, (uint32_t)snapshot->tgid);
	buf_append_uleb(out, (uint32_t)snapshot->tid);
	buf_append_uleb(out, (uint32_t)(snapshot->syscall_nr + 1));
	buf_append_uleb(out, snapshot->time_ns);
	buf_append_uleb(out, snapshot->cpu_ns);
	buf_append_uleb(out, snapshot->runq_ns);
	buf_append_uleb(out, snapshot->pcount);
	buf_append_u64(out, snapshot->regs.known);
	for (unsigned int reg = 0; reg < REGS_MAX; reg++) {
		if (snapshot->regs.known >> reg & 1)
			buf_append_u64(out, snapshot->regs.value[reg]);
	}
	buf_append_uleb(out, snapshot->nr_regions);
	for (unsigned int i = 0; i < snapshot->nr_regions; i++) {
		buf_append_u64(out, snapshot->regions[i].start);
		buf_append_uleb(out, snapshot->regions[i].nr_bytes);
	}
	buf_append(out, snapshot->bytes, snapshot->nr_bytes);
}

static bool load_arch(struct cursor *in, enum arch *arch)
{
	static const enum arch known[] = {ARCH_X86_64, ARCH_AARCH64};
	uint64_t length = cursor_uleb(in);
	const uint8_t *name = length <= NAME_MAX_BYTES ? cursor_bytes(in, length) : NULL;

	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++) {
		const char *wanted = arch_regs(known[i])->name;

		if (strlen(wanted) == length && !memcmp(wanted, name, length)) {
			*arch = known[i];
			return true;
		}
	}
	return false;
}

static bool load_regs(struct snapshot *snapshot, struct cursor *in)
{
	unsigned int nr = arch_regs(snapshot->arch)->nr;
	uint64_t known = cursor_u64(in);

	if (known >> nr)
		return false;
	for (unsigned int reg = 0; reg < nr; reg++) {
		if (known >> reg & 1)
			regs_set(&snapshot->regs, reg, cursor_u64(in));
	}
	return true;
}

static bool load_regions(struct snapshot *snapshot, struct cursor *in)
{
	uint64_t nr = cursor_uleb(in);
	uint64_t start[SNAPSHOT_REGIONS_MAX] = {0};
	uint64_t nr_bytes[SNAPSHOT_REGIONS_MAX] = {0};

	if (nr > SNAPSHOT_REGIONS_MAX)
		return false;
	for (uint64_t i = 0; i < nr; i++) {
		start[i] = cursor_u64(in);
		nr_bytes[i] = cursor_uleb(in);
	}
	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *bytes = cursor_bytes(in, nr_bytes[i]);
		uint8_t *room = bytes ? snapshot_add_region(snapshot, start[i], nr_bytes[i]) : NULL;

		if (!room)
			return false;
		memcpy(room, bytes, nr_bytes[i]);
	}
	return true;
}

static bool load_numbers(struct snapshot *snapshot, struct cursor *in)
{
	uint64_t state = cursor_uleb(in);

	if (state > THREAD_STATE_UNKNOWN)
		return false;
	snapshot->state = (enum thread_state)state;
	snapshot->tgid = (pid_t)cursor_uleb(in);
	snapshot->tid = (pid_t)cursor_uleb(in);
	snapshot->syscall_nr = (int32_t)cursor_uleb(in) - 1;
	snapshot->time_ns = cursor_uleb(in);
	snapshot->cpu_ns = cursor_uleb(in);
	snapshot->runq_ns = cursor_uleb(in);
	snapshot->pcount = cursor_uleb(in);
	return true;
}

int snapshot_load(struct snapshot *snapshot, struct cursor *in, struct err *err)
{
	bool good;

	snapshot_clear(snapshot);
	good = cursor_u32(in) == MAGIC && load_arch(in, &snapshot->arch) &&
	       load_numbers(snapshot, in) && load_regs(snapshot, in) && load_regions(snapshot, in);
	if (in->failed)
		return err_set(err, ERR_TRUNCATED, "a saved snapshot is truncated");
	if (!good)
		return err_set(err, ERR_CORRUPT, "not a saved snapshot");
	return 0;
}
