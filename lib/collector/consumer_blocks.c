// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of memory: the rounds in which their source is read, and the rows that they become. */
#include <string.h>

#include "base/minmax.h"
#include "collector/block_rows.h"
#include "collector/consumer_priv.h"
#include "collector/message.h"
#include "collector/script_frames.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"

/* --- blocks --- */

/* The limit of rows of threads that only records name: a process may write any id. */
#define WRITER_ROWS_MAX (1 << 16)

/*
 * The row of a thread that has written a record and that nothing has found so far: it may have
 * ended. It has the name of its process.
 */
static struct thread_id writer_row(struct consumer *consumer, const struct process *process,
				   pid_t tid, uint64_t start_ns)
{
	uint32_t row;

	if (!key_map_find(&consumer->writer_rows, process->serial, (uint64_t)tid, &row)) {
		row = profile_add_thread(
			      consumer->profile,
			      &(struct profile_thread){
				      .process = process->serial,
				      .tid = tid,
				      .name = consumer->profile->processes[process->serial].name,
				      .start_ns = start_ns,
			      })
			      .v;
		key_map_put(&consumer->writer_rows, process->serial, (uint64_t)tid, row);
	}
	return (struct thread_id){row};
}

static struct thread_id thread_row_of(struct consumer *consumer, struct process *process,
				      const struct block_record *record)
{
	const struct thread *thread = consumer_thread_of(consumer, process, record->tid);

	if (thread)
		return thread->samples.row;
	if (record->tid <= 0 || record->tid == process->pid ||
	    key_map_nr(&consumer->writer_rows) == WRITER_ROWS_MAX)
		return consumer_main_row(consumer, process);
	return writer_row(consumer, process, record->tid,
			  samples_profile_time(&consumer->sink, record->time_ns));
}

static void walk_block(struct consumer *consumer, struct process *process,
		       const struct block_record *record, struct block_seen *place)
{
	const struct message_sample seen = {.snapshot = record->snapshot};
	struct script_thread script_thread = {.state = record->script_state};
	struct script_subject script = consumer_script_subject(process);
	const struct thread *thread = consumer_thread_of(consumer, process, record->tid);
	struct rounds *rounds = &consumer->rounds;

	if (thread) {
		record->snapshot->first_sp = thread->first_sp;
		record->snapshot->thread_pointer = thread->thread_pointer;
	}
	script.thread = &script_thread;
	/* Stacks of a signature have the functions of the first one, which that does not tell. */
	if (!block_rows_is_one_of_all(consumer->blocks, record))
		script.late = record->snapshot;
	consumer_watch_later(consumer, process);
	place->stack =
		walker_walk(&consumer->walker, process->space, &process->maps, &seen, &script);
	consumer_tell_links(consumer, process);
	place->end = (uint8_t)consumer->walker.walk.end;
	if (place->end == STACK_END_BAD_MEMORY && record->snapshot->nr_regions)
		rounds->stack_bytes = (uint32_t)max_u64(rounds->stack_bytes,
							2 * record->snapshot->regions[0].nr_bytes);
}

static void add_block(struct consumer *consumer, struct process *process, struct thread_id thread,
		      const struct block_record *record)
{
	struct block_seen seen = {
		.time_ns = samples_profile_time(&consumer->sink, record->time_ns),
		.thread = thread,
		.maps = &process->live_maps,
		.stack = STACK_EMPTY,
		.end = STACK_END_NOT_TAKEN,
	};

	process->round = consumer->rounds.nr;
	process->last_block_ns = max_u64(process->last_block_ns, record->time_ns);
	if (record->snapshot) {
		walk_block(consumer, process, record, &seen);
		if (block_rows_is_one_of_all(consumer->blocks, record))
			step_sink_tell(&consumer->steps, record->signer, consumer->walker.unwinder,
				       process->space, &consumer->walker.walk);
	}
	block_rows_add(consumer->blocks, record, &seen);
}

void consumer_add_blocks(struct consumer *consumer, const struct block_record *records, size_t nr)
{
	struct process *process = NULL;
	struct thread_id thread = THREAD_NONE;

	for (size_t i = 0; i < nr; i++) {
		const struct block_record *record = &records[i];

		if (!process || process->serial != record->process ||
		    record->tid != records[i - 1].tid) {
			process = serial_table_get(&consumer->processes, record->process);
			thread = thread_row_of(consumer, process, record);
		}
		block_rows_expect(consumer->blocks, record, nr - i);
		add_block(consumer, process, thread, record);
	}
}

uint32_t consumer_block_stack_bytes(const struct consumer *consumer)
{
	return consumer->rounds.stack_bytes;
}

void consumer_add_search(struct consumer *consumer, const struct block_search *found,
			 const struct searched *searched)
{
	const struct process *process = serial_table_get(&consumer->processes, searched->process);
	const struct block_search_place place = {
		.process = searched->process,
		.time_ns = samples_profile_time(&consumer->sink, searched->time_ns),
		.mark = searched->mark};

	block_rows_search(consumer->blocks, found, &process->live_maps, &place);
}

struct profile *consumer_make_rows(struct consumer *consumer)
{
	block_rows_gather(consumer->blocks);
	return consumer->profile;
}

void consumer_mark(struct consumer *consumer, uint64_t time_ns)
{
	block_rows_mark(consumer->blocks, samples_profile_time(&consumer->sink, time_ns));
}

/* --- rounds of the block source --- */

bool consumer_has_waiting(const struct consumer *consumer)
{
	return consumer->rounds.nr_waiting || consumer->rounds.late.nr;
}

/*
 * End the processes that were found late, once a round has brought no record of them. The last
 * round ends all: a parent may write records in their names as long as it likes.
 */
static void end_late(struct consumer *consumer)
{
	struct serial_list *late = &consumer->rounds.late;
	size_t nr_left = 0;

	for (size_t i = 0; i < late->nr; i++) {
		struct process *process = serial_table_get(&consumer->processes, late->at[i]);

		if (process->round == consumer->rounds.nr && !consumer->rounds.is_last) {
			late->at[nr_left++] = late->at[i];
			continue;
		}
		consumer_finish_process(consumer, process, process->last_block_ns + 1,
					PROCESS_FOUND_LATE);
		consumer_end_process(consumer, late->at[i]);
	}
	late->nr = nr_left;
}

static void end_round(struct consumer *consumer)
{
	struct rounds *rounds = &consumer->rounds;

	rounds->is_open = false;
	for (size_t i = 0; i < rounds->nr_due; i++)
		consumer_handle_now(consumer, rounds->waiting[i]);
	rounds->nr_waiting -= rounds->nr_due;
	memmove(rounds->waiting, rounds->waiting + rounds->nr_due,
		rounds->nr_waiting * sizeof(struct message *));
	end_late(consumer);
}

enum blocks_read consumer_read_blocks(struct consumer *consumer)
{
	struct rounds *rounds = &consumer->rounds;
	bool begins = !rounds->is_open;
	enum blocks_read outcome;

	if (!rounds->source.read)
		return BLOCKS_NONE;
	if (begins) {
		rounds->nr++;
		rounds->nr_due = rounds->nr_waiting;
		rounds->is_last = rounds->is_hurried;
	}
	rounds->is_open = true;
	outcome = rounds->source.read(rounds->source.context, consumer, begins);
	if (outcome == BLOCKS_NONE || outcome == BLOCKS_SOME)
		end_round(consumer);
	return outcome;
}
