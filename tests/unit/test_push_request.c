// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes that receivers get. */
#include "push/labels.h"
#include "push/request.h"
#include "tests/unit/unit.h"

#define FROM_NS	 UINT64_C(1764412345678900000) /* 2025-11-29T10:32:25.678Z */
#define UNTIL_NS UINT64_C(1764412350000000001)

static struct push_labels labels;

static int set_labels(void **state)
{
	(void)state;
	push_labels_set(&labels, PUSH_LABEL_SERVICE, "my app/x", NULL);
	push_labels_set(&labels, "hostname", "box.example", NULL);
	push_labels_set(&labels, "tags", "a,b}{c=\xc3\xa4", NULL);
	return 0;
}

static int release_labels(void **state)
{
	(void)state;
	push_labels_release(&labels);
	return 0;
}

TEST_GROUP(set_labels, release_labels);

static const struct push_profile cpu = {.metric = "cpu",
					.types = {{"cpu", "nanoseconds"}},
					.nr_types = 1,
					.from_ns = FROM_NS,
					.until_ns = UNTIL_NS,
					.rate_hz = 49,
					.labels = &labels,
					.pprof = "\x1f\x8b\0z",
					.nr_bytes = 4};

static const struct push_profile live = {
	.metric = "live",
	.types = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}},
	.nr_types = 2,
	.from_ns = FROM_NS,
	.until_ns = FROM_NS,
	.labels = &labels,
	.pprof = "\x1f\x8b\0z",
	.nr_bytes = 4};

#define BOUNDARY "profc-ca02aa2c100f1cf5"

static void assert_body(const struct push_request *request, const char *body, size_t nr_bytes)
{
	assert_int_equal(request->body.nr_bytes, nr_bytes);
	assert_memory_equal(request->body.bytes, body, nr_bytes);
}

/* No escaping inside the name, so that ',' '{' and '}' are replaced. */
TEST(push_request, pyroscope)
{
	static const char body[] =
		"--" BOUNDARY "\r\n"
		"Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n"
		"\x1f\x8b\0z\r\n"
		"--" BOUNDARY "\r\n"
		"Content-Disposition: form-data; name=\"sample_type_config\"; "
		"filename=\"sample_type_config.json\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n"
		"{\"cpu\":{\"units\":\"nanoseconds\",\"aggregation\":\"sum\",\"sampled\":true}}\n"
		"\r\n--" BOUNDARY "--\r\n";
	struct push_request request;

	push_request_make(&request, PUSH_PYROSCOPE, &cpu);
	assert_string_equal(
		request.target,
		"/ingest?name=my_app%2Fx%7Bhostname%3Dbox.example%2C"
		"tags%3Da_b__c%3D%C3%A4%7D"
		"&from=1764412345678900000&until=1764412350000000001&spyName=profc&sampleRate=49");
	assert_string_equal(request.content_type, "multipart/form-data; boundary=" BOUNDARY);
	assert_body(&request, body, sizeof(body) - 1);
	push_request_release(&request);
}

TEST(push_request, pyroscope_types_of_memory)
{
	static const char types[] =
		"{\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\","
		"\"sampled\":true},\"inuse_space\":{\"units\":\"bytes\","
		"\"aggregation\":\"average\",\"sampled\":true}}";
	struct push_request request;

	push_request_make(&request, PUSH_PYROSCOPE, &live);
	assert_non_null(
		strstr(request.target,
		       "&from=1764412345678900000&until=1764412345678900001&spyName=profc"));
	assert_null(strstr(request.target, "sampleRate"));
	assert_non_null(
		memmem(request.body.bytes, request.body.nr_bytes, types, sizeof(types) - 1));
	push_request_release(&request);
}

TEST(push_request, boundary_is_not_in_the_file)
{
	static const char file[] = "--" BOUNDARY "\r\n";
	struct push_profile profile = cpu;
	struct push_request request;
	const char *boundary;

	profile.pprof = file;
	profile.nr_bytes = sizeof(file) - 1;
	push_request_make(&request, PUSH_PYROSCOPE, &profile);
	boundary = strchr(request.content_type, '=') + 1;
	assert_null(strstr(file, boundary));
	push_request_release(&request);
}

TEST(push_request, parca)
{
	static const char body[] =
		"{\"series\":[{\"labels\":{\"labels\":["
		"{\"name\":\"__name__\",\"value\":\"process_cpu\"},"
		"{\"name\":\"hostname\",\"value\":\"box.example\"},"
		"{\"name\":\"service_name\",\"value\":\"my app/x\"},"
		"{\"name\":\"tags\",\"value\":\"a,b}{c=\xc3\xa4\"}]},"
		"\"samples\":[{\"rawProfile\":\"H4sAeg==\"}]}],\"normalized\":true}\n";
	struct push_request request;

	push_request_make(&request, PUSH_PARCA, &cpu);
	assert_string_equal(request.target, "/api/profiles/writeraw");
	assert_string_equal(request.content_type, "application/json");
	assert_body(&request, body, sizeof(body) - 1);
	push_request_release(&request);
}

TEST(push_request, parca_base64)
{
	static const char *const ends[] = {"\"\"}", "\"H4s=\"}", "\"H4sA\"}", "\"Hw==\"}"};
	static const size_t sizes[] = {0, 2, 3, 1};

	for (size_t i = 0; i < 4; i++) {
		struct push_profile profile = live;
		struct push_request request;

		profile.nr_bytes = sizes[i];
		push_request_make(&request, PUSH_PARCA, &profile);
		assert_non_null(strstr(buf_str(&request.body), "\"value\":\"memory\""));
		assert_non_null(strstr(buf_str(&request.body), ends[i]));
		push_request_release(&request);
	}
}

TEST(push_request, file_of_a_long_name)
{
	struct push_labels own = {.labels = NULL};
	struct push_profile profile = cpu;
	struct push_request request;
	char name[251];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	push_labels_set(&own, PUSH_LABEL_SERVICE, name, NULL);
	push_labels_set(&own, "hostname", name, NULL);
	profile.labels = &own;
	push_request_make(&request, PUSH_DIRECTORY, &profile);
	/* And its temporary name. */
	assert_true(strlen(request.target) < 240);
	push_request_release(&request);
	push_labels_release(&own);
}

/* Equal for a repeated profile, and no path leads out of the directory. */
TEST(push_request, file)
{
	struct push_request request;

	push_request_make(&request, PUSH_DIRECTORY, &live);
	assert_string_equal(request.target,
			    "my_app_x.box_example.2025-11-29T10-32-25.678Z.live.pb.gz");
	assert_body(&request, "\x1f\x8b\0z", 4);
	push_request_release(&request);
}
