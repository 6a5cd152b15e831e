// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads memory maps for which the collector would be too late. In its first milliseconds a program
 * maps its libraries, and many programs end then. Later its map changes ever more rarely, and the
 * collector reads it now and then; but code made or loaded at run time may be gone by then. Without
 * samples, the process may end before profc notices new code.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/program.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"

void maps_read(struct sampler *sampler, struct message *message, pid_t pid)
{
	struct message_process *about = &message->body.process;
	struct buf text = {0};

	if (proc_read_process_file(pid, "maps", &text) && text.nr_bytes &&
	    collector_has_room(sampler->collector, text.nr_bytes)) {
		about->maps = xstrndup(buf_str(&text), text.nr_bytes);
		about->nr_maps_bytes = text.nr_bytes;
	}
	buf_release(&text);
}

#define YOUNG_NS	       (64 * NS_PER_MS)
#define AGE_PER_PAUSE	       8
#define PAUSE_PER_READING      16
#define LATE_NS		       (20 * NS_PER_MS)
#define LATE_PAUSE_NS	       (50 * NS_PER_MS)
#define LATE_PAUSE_PER_READING 100

static bool is_likely_new(const struct sampler *sampler, const struct sampled_process *process,
			  uint64_t now_ns)
{
	if (process->maps.has_new_code)
		return true;
	if (now_ns < process->maps.again_ns || collector_is_behind(sampler->collector))
		return false;
	return sampler->options.no_cpu || process_age_ns(process, now_ns) <= YOUNG_NS ||
	       process->maps.has_more_code ||
	       now_ns > LATE_NS + collector_due_ns(sampler->collector);
}

static uint64_t pause_after(const struct sampler *sampler, uint64_t age_ns, uint64_t reading_ns)
{
	if (age_ns <= YOUNG_NS)
		return age_ns / AGE_PER_PAUSE + reading_ns * PAUSE_PER_READING;
	/* If the collector is late, then for all processes: together they take that part. */
	return (sampler->options.no_cpu ? age_ns / AGE_PER_PAUSE : LATE_PAUSE_NS) +
	       reading_ns * LATE_PAUSE_PER_READING * roster_nr_processes(sampler->roster);
}

void maps_publish_if_new(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	uint64_t began_ns = clock_monotonic_ns();
	pid_t pid = process->roster->pid;
	struct message *message;

	if (!is_likely_new(sampler, process, now_ns))
		return;
	message = message_new(MESSAGE_MAPS, now_ns);
	message->body.process.serial = process->serial;
	message->body.process.pid = pid;
	maps_read(sampler, message, pid);
	process->maps = (struct maps_reading){
		.again_ns = now_ns + pause_after(sampler, process_age_ns(process, now_ns),
						 clock_monotonic_ns() - began_ns)};
	/* The process may have executed another program before its map was read. */
	if (message->body.process.maps && process->roster->program &&
	    proc_program_id(pid, pid) != process->roster->program)
		message_free(message);
	else
		collector_publish(sampler->collector, message);
	sampler->spending.news_ns += clock_monotonic_ns() - began_ns;
}
