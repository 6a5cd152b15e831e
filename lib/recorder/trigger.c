// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/size_text.h"

/* The part of a trigger after its name. */
enum trigger_form {
	FORM_NOTHING,
	FORM_SHARE, /* >PCT%/TIME */
	FORM_SIZE,  /* >SIZE */
	FORM_SPAN,  /* >TIME */
	FORM_PHASE, /* :NAME>TIME, also of a call */
};

typedef bool trigger_test(const struct triggers *triggers, const struct trigger *trigger,
			  uint64_t now_ns);

static trigger_test has_cpu, has_rss, is_stalled, has_runq, is_long_phase, has_long_call;

static const struct {
	const char *name, *syntax, *example; /* NULL: it has the name alone */
	enum trigger_form form;
	trigger_test *test; /* NULL: it is an event, which the caller sees */
	bool is_read;	    /* the test is of readings */
} kinds[TRIGGER_KIND_COUNT] = {
	[TRIGGER_SIGNAL] = {"signal", "signal", NULL, FORM_NOTHING, NULL, false},
	[TRIGGER_CONTROL] = {"control", "control", NULL, FORM_NOTHING, NULL, false},
	[TRIGGER_EXIT] = {"exit", "exit", NULL, FORM_NOTHING, NULL, false},
	[TRIGGER_CPU] = {"cpu", "cpu>PCT%/TIME", "cpu>180%/5s", FORM_SHARE, has_cpu, true},
	[TRIGGER_RSS] = {"rss", "rss>SIZE", "rss>2G", FORM_SIZE, has_rss, true},
	[TRIGGER_STALL] = {"stall", "stall>TIME", "stall>2s", FORM_SPAN, is_stalled, true},
	[TRIGGER_RUNQ] = {"runq", "runq>PCT%/TIME", "runq>50%/5s", FORM_SHARE, has_runq, true},
	[TRIGGER_MARK] = {"mark", "mark:NAME>TIME", "mark:sorting>200ms", FORM_PHASE, is_long_phase,
			  false},
	[TRIGGER_SPAN] = {"span", "span:FUNC>TIME", "span:handle_request>200ms", FORM_PHASE,
			  has_long_call, false},
	[TRIGGER_CRASH] = {"crash", "crash", NULL, FORM_NOTHING, NULL, false},
	[TRIGGER_GONE] = {"gone", "gone", NULL, FORM_NOTHING, NULL, false},
};

/* Samples come once a second. */
#define WINDOW_NS_MIN NS_PER_SEC
#define WINDOW_NS_MAX (600 * NS_PER_SEC)
#define PERIOD_NS_MAX NS_PER_SEC
#define PERIOD_NS_MIN (100 * NS_PER_MS)

/* --- evaluation --- */

static const struct trigger_reading *last_of(const struct triggers *triggers)
{
	return triggers->nr_readings ? &triggers->readings[triggers->nr_readings - 1] : NULL;
}

/* The latest reading that is older than the span by the recording's clock. */
static const struct trigger_reading *before(const struct triggers *triggers, uint64_t span_ns)
{
	const struct trigger_reading *last = last_of(triggers);
	size_t i = triggers->nr_readings;

	while (i > 0 && triggers->readings[i - 1].sampled_ns + span_ns > last->sampled_ns)
		i--;
	return i > 0 ? &triggers->readings[i - 1] : NULL;
}

static bool exceeds(const struct trigger *trigger, uint64_t part_ns, uint64_t all_ns)
{
	return all_ns && (double)part_ns > trigger->threshold * (double)all_ns;
}

static bool has_cpu(const struct triggers *triggers, const struct trigger *trigger, uint64_t now_ns)
{
	const struct trigger_reading *last = last_of(triggers);
	const struct trigger_reading *first = before(triggers, trigger->span_ns);

	(void)now_ns;
	return first &&
	       exceeds(trigger, last->cpu_ns - first->cpu_ns, last->sampled_ns - first->sampled_ns);
}

static bool has_runq(const struct triggers *triggers, const struct trigger *trigger,
		     uint64_t now_ns)
{
	const struct trigger_reading *last = last_of(triggers);
	const struct trigger_reading *first = before(triggers, trigger->span_ns);

	(void)now_ns;
	return first && exceeds(trigger, last->runq_ns - first->runq_ns,
				last->sampled_ns - first->sampled_ns);
}

static bool has_rss(const struct triggers *triggers, const struct trigger *trigger, uint64_t now_ns)
{
	const struct trigger_reading *last = last_of(triggers);

	(void)now_ns;
	return last && (double)last->rss_bytes > trigger->threshold;
}

/* Without a CPU clock that has moved. */
static bool is_stalled(const struct triggers *triggers, const struct trigger *trigger,
		       uint64_t now_ns)
{
	const struct trigger_reading *last = last_of(triggers);
	size_t i = triggers->nr_readings;

	(void)now_ns;
	if (!last || !last->has_processes)
		return false;
	while (i > 0 && triggers->readings[i - 1].has_processes &&
	       triggers->readings[i - 1].ran_ns == last->ran_ns)
		i--;
	return last->time_ns - triggers->readings[i].time_ns >= trigger->span_ns;
}

static bool is_long_phase(const struct triggers *triggers, const struct trigger *trigger,
			  uint64_t now_ns)
{
	return triggers->phase && strcmp(triggers->phase, trigger->name) == 0 &&
	       now_ns >= triggers->phase_from_ns + trigger->span_ns;
}

/* Each call is one of its own. */
static bool has_long_call(const struct triggers *triggers, const struct trigger *trigger,
			  uint64_t now_ns)
{
	(void)triggers;
	(void)now_ns;
	return trigger->call_ns >= trigger->span_ns;
}

void trigger_note_call(struct trigger *trigger, uint64_t length_ns, uint64_t at_ns)
{
	trigger->call_ns = length_ns;
	trigger->at_ns = at_ns;
	trigger->holds = false;
}

const struct trigger *triggers_next(struct triggers *triggers, uint64_t now_ns)
{
	for (size_t i = 0; i < triggers->nr; i++) {
		struct trigger *trigger = &triggers->rows[i];
		trigger_test *test = kinds[trigger->kind].test;
		bool held = trigger->holds;

		trigger->holds = test && test(triggers, trigger, now_ns);
		if (trigger->holds && !held)
			return trigger;
	}
	return NULL;
}

bool triggers_need_readings(const struct triggers *triggers)
{
	for (size_t i = 0; i < triggers->nr; i++) {
		if (kinds[triggers->rows[i].kind].is_read)
			return true;
	}
	return false;
}

uint64_t triggers_period_ns(const struct triggers *triggers)
{
	uint64_t period_ns = PERIOD_NS_MAX;

	for (size_t i = 0; i < triggers->nr; i++) {
		const struct trigger *trigger = &triggers->rows[i];

		if (trigger->kind == TRIGGER_STALL)
			period_ns = min_u64(period_ns, trigger->span_ns / 4);
	}
	return max_u64(period_ns, PERIOD_NS_MIN);
}

/* Old readings go, but for one that is older than each span. */
static void drop_old(struct triggers *triggers, const struct trigger_reading *now)
{
	uint64_t span_ns = 0;
	size_t nr = 0;

	for (size_t i = 0; i < triggers->nr; i++)
		span_ns = max_u64(span_ns, triggers->rows[i].span_ns);
	while (nr + 1 < triggers->nr_readings &&
	       triggers->readings[nr + 1].sampled_ns + span_ns <= now->sampled_ns &&
	       triggers->readings[nr + 1].time_ns + span_ns <= now->time_ns)
		nr++;
	if (!nr)
		return;
	triggers->nr_readings -= nr;
	memmove(triggers->readings, triggers->readings + nr,
		triggers->nr_readings * sizeof(*triggers->readings));
}

/* Of equal readings in a row the first and the last one are kept. */
static bool repeats(const struct triggers *triggers, const struct trigger_reading *reading)
{
	const struct trigger_reading *last = triggers->readings + triggers->nr_readings;

	if (triggers->nr_readings < 2)
		return false;
	for (int i = 1; i <= 2; i++) {
		if (last[-i].ran_ns != reading->ran_ns ||
		    last[-i].sampled_ns != reading->sampled_ns ||
		    last[-i].has_processes != reading->has_processes)
			return false;
	}
	return true;
}

void triggers_note_reading(struct triggers *triggers, const struct trigger_reading *reading)
{
	drop_old(triggers, reading);
	if (repeats(triggers, reading)) {
		triggers->readings[triggers->nr_readings - 1] = *reading;
		return;
	}
	ARRAY_GROW(triggers->readings, triggers->nr_readings, triggers->cap_readings);
	triggers->readings[triggers->nr_readings++] = *reading;
}

void triggers_note_mark(struct triggers *triggers, const char *text, uint64_t time_ns)
{
	free(triggers->phase);
	triggers->phase = xstrdup(text);
	triggers->phase_from_ns = time_ns;
	/* Each phase is one of its own, also if it has the name of the one before. */
	for (size_t i = 0; i < triggers->nr; i++) {
		if (triggers->rows[i].kind == TRIGGER_MARK)
			triggers->rows[i].holds = false;
	}
}

uint64_t triggers_due_ns(const struct triggers *triggers)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < triggers->nr; i++) {
		const struct trigger *trigger = &triggers->rows[i];

		if (trigger->kind == TRIGGER_MARK && !trigger->holds && triggers->phase &&
		    strcmp(triggers->phase, trigger->name) == 0)
			due_ns = min_u64(due_ns, triggers->phase_from_ns + trigger->span_ns);
	}
	return due_ns;
}

const struct trigger *triggers_find(const struct triggers *triggers, enum trigger_kind kind)
{
	for (size_t i = 0; i < triggers->nr; i++) {
		if (triggers->rows[i].kind == kind)
			return &triggers->rows[i];
	}
	return NULL;
}

const char *trigger_name(enum trigger_kind kind)
{
	return kinds[kind].name;
}

/* --- texts --- */

void triggers_append_syntax(struct buf *out)
{
	for (size_t i = 0; i < TRIGGER_KIND_COUNT; i++)
		buf_printf(out, "%s%s", i ? ", " : "", kinds[i].syntax);
}

static int refuse(const struct trigger *trigger, const char *why, struct err *err)
{
	const char *syntax = kinds[trigger->kind].syntax, *example = kinds[trigger->kind].example;

	err_set(err, ERR_INVALID, "trigger '%s': %s", trigger->text, why);
	if (example)
		err_hint(err, "it has the form %s, in quotes for the shell: --trigger '%s'", syntax,
			 example);
	else
		err_hint(err, "it has the form %s", syntax);
	return ERR_INVALID;
}

static int parse_span(struct trigger *trigger, const char *text, struct err *err)
{
	if (duration_parse(text, &trigger->span_ns, NULL) < 0 || !trigger->span_ns)
		return refuse(trigger, "its time must be one such as 5s or 200ms", err);
	if (kinds[trigger->kind].form == FORM_PHASE)
		return 0;
	if (trigger->span_ns < WINDOW_NS_MIN || trigger->span_ns > WINDOW_NS_MAX)
		return refuse(trigger, "its time must be from 1s to 10m", err);
	return 0;
}

static int parse_share(struct trigger *trigger, const char *text, struct err *err)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || strncmp(end, "%/", 2) != 0 || !(percent > 0) || percent > 1e9)
		return refuse(trigger, "its threshold must be a percentage with a time", err);
	trigger->threshold = percent / 100;
	return parse_span(trigger, end + 2, err);
}

static int parse_size(struct trigger *trigger, const char *text, struct err *err)
{
	uint64_t nr_bytes;

	if (size_parse(text, &nr_bytes) < 0)
		return refuse(trigger, "its size must be one such as 500M or 2G", err);
	trigger->threshold = (double)nr_bytes;
	return 0;
}

/* A name may have any character; the last '>' ends it. */
static int parse_phase(struct trigger *trigger, const char *text, struct err *err)
{
	const char *over = strrchr(text, '>');

	if (*text != ':' || !over || over == text + 1)
		return refuse(trigger,
			      trigger->kind == TRIGGER_SPAN ? "it must name a function and a time"
							    : "it must name a mark and a time",
			      err);
	trigger->name = xstrndup(text + 1, (size_t)(over - text - 1));
	return parse_span(trigger, over + 1, err);
}

static int parse_rest(struct trigger *trigger, const char *rest, struct err *err)
{
	enum trigger_form form = kinds[trigger->kind].form;

	if (form == FORM_PHASE)
		return parse_phase(trigger, rest, err);
	if (form == FORM_NOTHING)
		return *rest ? refuse(trigger, "nothing may follow its name", err) : 0;
	if (*rest != '>')
		return refuse(trigger, "its threshold is missing", err);
	if (form == FORM_SHARE)
		return parse_share(trigger, rest + 1, err);
	return form == FORM_SIZE ? parse_size(trigger, rest + 1, err)
				 : parse_span(trigger, rest + 1, err);
}

static void trigger_release(struct trigger *trigger)
{
	free(trigger->text);
	free(trigger->name);
}

/* TRIGGER_KIND_COUNT: there is no such name. */
static enum trigger_kind kind_of(const char *text, size_t length)
{
	for (size_t i = 0; i < TRIGGER_KIND_COUNT; i++) {
		if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, text, length) == 0)
			return (enum trigger_kind)i;
	}
	return TRIGGER_KIND_COUNT;
}

int triggers_add(struct triggers *triggers, const char *text, struct err *err)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	struct trigger trigger = {.kind = kind_of(text, length)};
	struct buf syntax = {0};
	int status;

	if (trigger.kind == TRIGGER_KIND_COUNT) {
		triggers_append_syntax(&syntax);
		err_set(err, ERR_INVALID, "unknown trigger '%s'", text);
		err_hint(err, "triggers are %s", buf_str(&syntax));
		buf_release(&syntax);
		return ERR_INVALID;
	}
	trigger.text = xstrdup(text);
	status = parse_rest(&trigger, text + length, err);
	if (status < 0) {
		trigger_release(&trigger);
		return status;
	}
	ARRAY_GROW(triggers->rows, triggers->nr, triggers->cap);
	triggers->rows[triggers->nr++] = trigger;
	return 0;
}

void triggers_release(struct triggers *triggers)
{
	for (size_t i = 0; i < triggers->nr; i++)
		trigger_release(&triggers->rows[i]);
	free(triggers->rows);
	free(triggers->readings);
	free(triggers->phase);
	*triggers = (struct triggers){0};
}
