/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_SNAPSHOT_SAVE_H
#define PROFC_SNAPSHOT_SNAPSHOT_SAVE_H

struct buf;
struct cursor;
struct err;
struct snapshot;

/*
 * A snapshot as bytes, so that an unwinder can be tested on stacks taken long
 * ago or on another architecture. Little endian; uleb is ULEB128:
 *
 *	u32	"PSN1"
 *	uleb	architecture name's length, then the name ("x86_64", "aarch64")
 *	uleb	state, tgid, tid, system call + 1, time_ns, cpu_ns, runq_ns, pcount
 *	u64	known registers, one bit each; then a u64 for each bit set, from bit 0 on
 *	uleb	number of regions; for each: u64 start, uleb length; all are taken for stacks
 *	bytes	of all regions, back to back
 */
void snapshot_save(const struct snapshot *snapshot, struct buf *out);

/*
 * Read one snapshot and leave the cursor after it. `snapshot` is cleared first; its room is reused.
 * ERR_CORRUPT or ERR_TRUNCATED if the bytes are not from snapshot_save().
 */
int snapshot_load(struct snapshot *snapshot, struct cursor *in, struct err *err);

#endif
