// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/machine_text.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "profile/profile.h"

/* So many programs are named, each with this share or more. */
#define NAMED_MAX     4
#define LEAST_PERCENT 1.0

struct machine {
	double busy, own, stolen, idle; /* in percent of all CPUs */
	uint64_t all_ns;		/* 0: not known */
};

static double percent_of(uint64_t part_ns, uint64_t all_ns)
{
	return all_ns ? 100.0 * (double)part_ns / (double)all_ns : 0;
}

static struct machine machine_of(const struct profile *profile)
{
	uint64_t busy_ns = profile_counter(profile, "machine_busy_ns");
	uint64_t idle_ns = profile_counter(profile, "machine_idle_ns");
	uint64_t stolen_ns = profile_counter(profile, "machine_stolen_ns");
	struct machine machine = {.all_ns = busy_ns + idle_ns + stolen_ns};
	uint64_t own_ns = 0;

	for (size_t i = 0; i < profile->nr_samples; i++)
		own_ns += profile->samples[i].cpu_ns;
	machine.busy = percent_of(busy_ns, machine.all_ns);
	machine.idle = percent_of(idle_ns, machine.all_ns);
	machine.stolen = percent_of(stolen_ns, machine.all_ns);
	machine.own = percent_of(own_ns, machine.all_ns);
	/* The kernel counts in ticks of 10 ms, and from some milliseconds later on. */
	if (machine.own > machine.busy)
		machine.own = machine.busy;
	return machine;
}

static void append_program(struct buf *out, const struct profile *profile,
			   const struct profile_other *row, double percent)
{
	if (row->is_of_children)
		buf_append_str(out, "children of ");
	escape_terminal(out, profile_str(profile, row->name));
	buf_printf(out, " %.0f%%", percent);
}

bool machine_append(struct buf *out, const struct profile *profile)
{
	struct machine machine = machine_of(profile);
	unsigned int nr = 0;

	if (!machine.all_ns)
		return false;
	buf_printf(out, "CPUs %.0f%% busy, %.0f%% with this program", machine.busy, machine.own);
	if (machine.stolen >= LEAST_PERCENT)
		buf_printf(out, ", and %.0f%% taken by the host", machine.stolen);
	for (size_t i = 0; i < profile->others.nr && nr < NAMED_MAX; i++) {
		const struct profile_other *row = &profile->others.rows[i];
		double percent = percent_of(row->cpu_ns, machine.all_ns);

		if (percent < LEAST_PERCENT)
			continue;
		buf_append_str(out, nr++ ? ", " : "; ");
		append_program(out, profile, row, percent);
	}
	return true;
}

double machine_idle_percent(const struct profile *profile)
{
	return machine_of(profile).idle;
}

double machine_stolen_percent(const struct profile *profile)
{
	return machine_of(profile).stolen;
}

static void put_percent(struct json *json, const char *key, double percent)
{
	json_key(json, key);
	json_double(json, percent, 2);
}

void json_key_machine(struct json *json, const struct profile *profile)
{
	struct machine machine = machine_of(profile);

	json_key(json, "machine");
	if (!machine.all_ns) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	put_percent(json, "busy_pct", machine.busy);
	put_percent(json, "own_pct", machine.own);
	put_percent(json, "stolen_pct", machine.stolen);
	json_key_array_begin(json, "programs");
	for (size_t i = 0; i < profile->others.nr; i++) {
		const struct profile_other *row = &profile->others.rows[i];

		json_object_begin(json);
		json_key_str(json, "name", profile_str(profile, row->name));
		json_key(json, "children");
		json_bool(json, row->is_of_children);
		put_percent(json, "pct", percent_of(row->cpu_ns, machine.all_ns));
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}
