// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The wire formats. Sources, read in 2026: grafana/pyroscope
 * (pkg/ingester/pyroscope/ingest_handler.go, pkg/og/convert/pprof/profile.go, api/model/labelset),
 * grafana/pyroscope-nodejs (src/pyroscope-api-exporter.ts); parca-dev/parca
 * (proto/parca/profilestore/v1alpha1, pkg/server/server.go, pkg/normalizer).
 */
#include "push/request.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/lasting_hash.h"
#include "base/sink.h"
#include "push/labels.h"

#define NAME_PART_MAX 90

/* --- texts --- */

static const char *service_of(const struct push_profile *profile)
{
	const char *service = push_labels_get(profile->labels, PUSH_LABEL_SERVICE);

	return service ? service : "unknown";
}

/* Bytes that are neither letters, digits nor in `allowed` become '_'. */
static void append_restricted(struct buf *out, const char *text, const char *allowed)
{
	for (; *text; text++)
		buf_append_byte(out, isalnum((unsigned char)*text) || strchr(allowed, *text)
					     ? (uint8_t)*text
					     : '_');
}

/* As a URL's query has it. */
static void append_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			buf_append_byte(out, (uint8_t)*text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

/* --- Pyroscope --- */

/*
 * SERVICE{NAME=VALUE,...}: the format has no escaping, and ends a value at ',' and '}'. Names of
 * services have letters, digits and "-./_".
 */
static void append_pyroscope_name(struct buf *out, const struct push_profile *profile)
{
	const struct push_labels *labels = profile->labels;
	const char *separator = "{";

	append_restricted(out, service_of(profile), "-./_");
	for (size_t i = 0; i < labels->nr; i++) {
		if (strcmp(labels->labels[i].name, PUSH_LABEL_SERVICE) == 0)
			continue;
		buf_printf(out, "%s%s=", separator, labels->labels[i].name);
		for (const char *at = labels->labels[i].value; *at; at++)
			buf_append_byte(out, strchr(",{}", *at) ? '_' : (uint8_t)*at);
		separator = ",";
	}
	buf_append_str(out, *separator == '{' ? "{}" : "}");
}

/*
 * Nanoseconds, which the server knows by their 19 digits, as its client for Go sends them: in whole
 * seconds two profiles could have the same time. Never an empty time.
 */
static char *pyroscope_target(const struct push_profile *profile)
{
	struct buf name = {0}, target = {0};
	uint64_t from = profile->from_ns, until = profile->until_ns;
	char *text;

	append_pyroscope_name(&name, profile);
	buf_append_str(&target, "/ingest?name=");
	append_escaped(&target, buf_str(&name));
	buf_printf(&target, "&from=%019" PRIu64 "&until=%019" PRIu64 "&spyName=profc", from,
		   until > from ? until : from + 1);
	if (profile->rate_hz)
		buf_printf(&target, "&sampleRate=%u", profile->rate_hz);
	text = xstrdup(buf_str(&target));
	buf_release(&name);
	buf_release(&target);
	return text;
}

/* Its word for blocks. */
static const char *pyroscope_unit(const struct push_type *type)
{
	size_t nr_bytes = strlen(type->name);

	if (nr_bytes > 8 && strcmp(type->name + nr_bytes - 8, "_objects") == 0)
		return "objects";
	return type->unit;
}

/* Values at a moment, as live bytes, are no sums over time. */
static const char *pyroscope_aggregation(const struct push_type *type)
{
	return strncmp(type->name, "inuse_", 6) == 0 ? "average" : "sum";
}

/* Without this the server takes types for those of Go's profiles. */
static void append_type_config(struct buf *out, const struct push_profile *profile)
{
	struct sink sink = SINK_MEMORY;
	struct json json;

	json_init(&json, &sink);
	json_object_begin(&json);
	for (size_t i = 0; i < profile->nr_types; i++) {
		const struct push_type *type = &profile->types[i];

		json_key_object_begin(&json, type->name);
		json_key_str(&json, "units", pyroscope_unit(type));
		json_key_str(&json, "aggregation", pyroscope_aggregation(type));
		json_key_bool(&json, "sampled", true);
		json_object_end(&json);
	}
	json_object_end(&json);
	json_finish(&json);
	buf_append(out, sink.pending.bytes, sink.pending.nr_bytes);
	sink_release(&sink);
}

/* One that is not in the file, and the same each time. */
static void choose_boundary(char *boundary, size_t nr_boundary_bytes,
			    const struct push_profile *profile)
{
	uint64_t hash = lasting_hash(LASTING_HASH_BEGIN, profile->pprof, profile->nr_bytes);

	do
		snprintf(boundary, nr_boundary_bytes, "profc-%016" PRIx64, hash++);
	while (memmem(profile->pprof, profile->nr_bytes, boundary, strlen(boundary)));
}

static void begin_part(struct buf *out, const char *boundary, const char *name, const char *file)
{
	buf_printf(out,
		   "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		   "Content-Type: application/octet-stream\r\n\r\n",
		   boundary, name, file);
}

static void make_pyroscope(struct push_request *request, const struct push_profile *profile)
{
	struct buf *body = &request->body;
	char boundary[32];

	choose_boundary(boundary, sizeof(boundary), profile);
	begin_part(body, boundary, "profile", "profile.pprof");
	buf_append(body, profile->pprof, profile->nr_bytes);
	buf_append_str(body, "\r\n");
	begin_part(body, boundary, "sample_type_config", "sample_type_config.json");
	append_type_config(body, profile);
	buf_printf(body, "\r\n--%s--\r\n", boundary);
	request->target = pyroscope_target(profile);
	request->content_type = xasprintf("multipart/form-data; boundary=%s", boundary);
}

/* --- Parca --- */

/*
 * The series: names that Pyroscope derives from the types by itself, so that both call
 * process_cpu:cpu:nanoseconds:cpu:nanoseconds the same.
 */
static const char *series_of(const struct push_profile *profile)
{
	const char *type = profile->types[0].name;

	if (strcmp(type, "cpu") == 0)
		return "process_cpu";
	return strstr(type, "_objects") || strstr(type, "_space") ? "memory" : type;
}

static void json_label(struct json *json, const char *name, const char *value)
{
	json_object_begin(json);
	json_key_str(json, "name", name);
	json_key_str(json, "value", value);
	json_object_end(json);
}

/* WriteRawRequest of profilestore.proto, as JSON; addresses are those of files: normalized. */
static void make_parca(struct push_request *request, const struct push_profile *profile)
{
	const struct push_labels *labels = profile->labels;
	struct sink sink = SINK_MEMORY;
	struct buf base64 = {0};
	struct json json;

	escape_base64(&base64, profile->pprof, profile->nr_bytes);
	json_init(&json, &sink);
	json_object_begin(&json);
	json_key_array_begin(&json, "series");
	json_object_begin(&json);
	json_key_object_begin(&json, "labels");
	json_key_array_begin(&json, "labels");
	json_label(&json, "__name__", series_of(profile));
	for (size_t i = 0; i < labels->nr; i++)
		json_label(&json, labels->labels[i].name, labels->labels[i].value);
	json_array_end(&json);
	json_object_end(&json);
	json_key_array_begin(&json, "samples");
	json_object_begin(&json);
	json_key_str(&json, "rawProfile", buf_str(&base64));
	json_object_end(&json);
	json_array_end(&json);
	json_object_end(&json);
	json_array_end(&json);
	json_key_bool(&json, "normalized", true);
	json_object_end(&json);
	json_finish(&json);
	request->target = xstrdup("/api/profiles/writeraw");
	request->content_type = xstrdup("application/json");
	request->body = sink.pending;
	sink.pending = (struct buf){0};
	sink_release(&sink);
	buf_release(&base64);
}

/* --- directories --- */

/* And a dot. A program may have a name as long as names of files can be. */
static void append_name_part(struct buf *name, const char *text)
{
	cleanup_free char *part = xstrndup(text, NAME_PART_MAX);

	append_restricted(name, part, "-_");
	buf_append_byte(name, '.');
}

/* SERVICE.HOST.TIME.METRIC.pb.gz: equal for a repeated profile, and sorted by time. */
static void make_file(struct push_request *request, const struct push_profile *profile)
{
	const char *host = push_labels_get(profile->labels, "hostname");
	time_t seconds = (time_t)(profile->from_ns / NS_PER_SEC);
	struct buf name = {0};
	struct tm utc;

	gmtime_r(&seconds, &utc);
	append_name_part(&name, service_of(profile));
	if (host)
		append_name_part(&name, host);
	buf_printf(&name, "%04d-%02d-%02dT%02d-%02d-%02d.%03uZ.%s.pb.gz", utc.tm_year + 1900,
		   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
		   (unsigned int)(profile->from_ns % NS_PER_SEC / NS_PER_MS), profile->metric);
	request->target = xstrdup(buf_str(&name));
	request->content_type = xstrdup("application/octet-stream");
	buf_append(&request->body, profile->pprof, profile->nr_bytes);
	buf_release(&name);
}

void push_request_make(struct push_request *request, enum push_kind kind,
		       const struct push_profile *profile)
{
	*request = (struct push_request){.target = NULL};
	switch (kind) {
	case PUSH_PYROSCOPE:
		make_pyroscope(request, profile);
		break;
	case PUSH_PARCA:
		make_parca(request, profile);
		break;
	case PUSH_DIRECTORY:
		make_file(request, profile);
		break;
	}
}

void push_request_release(struct push_request *request)
{
	free(request->target);
	free(request->content_type);
	buf_release(&request->body);
	*request = (struct push_request){.target = NULL};
}
