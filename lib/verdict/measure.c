// SPDX-License-Identifier: GPL-2.0-or-later
/* Shares of the work, and evidence of them. */
#include "base/alloc.h"
#include "base/buf.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"

struct measure measure_of(const struct facts *facts, const struct tally *part)
{
	if (!facts->work.weight)
		return (struct measure){0};
	return (struct measure){.percent = tally_percent(part, &facts->work),
				.interval = tally_interval(part, &facts->work)};
}

struct measure measure_missing(const char *why)
{
	return (struct measure){.missing = why};
}

struct measure measure_exact(uint64_t part, uint64_t whole)
{
	return (struct measure){.percent = whole ? 100 * (double)part / (double)whole : 0};
}

void evidence_add(struct verdict *verdict, double percent, double interval, struct buf *text)
{
	if (verdict->nr_evidence < VERDICT_EVIDENCE_MAX)
		verdict->evidence[verdict->nr_evidence++] = (struct verdict_evidence){
			.percent = percent, .interval = interval, .text = xstrdup(buf_str(text))};
	buf_release(text);
}
