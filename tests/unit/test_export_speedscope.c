// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define HEAD                                                                                       \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","                     \
	"\"exporter\":\"profc@" PROFC_VERSION "\",\"name\":\"prog\","

TEST(speedscope, one_profile_per_thread)
{
	struct made made = made_begin();
	struct thread_id first = made.thread;
	struct profile *profile;

	made_sample(&made, "main@m.c:1;work@w.c:20+square@v.h:3", 1);
	made_sample(&made, "main@m.c:1;work@w.c:21+square@v.h:4", 2); /* the same functions */
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "work@w.c:9", 4);
	made.thread = first;
	made_sample(&made, "", 8)->kind = SAMPLE_UNATTRIBUTED;
	profile = made_end(&made);
	assert_export(EXPORT_SPEEDSCOPE, profile, NULL,
		      HEAD "\"activeProfileIndex\":0,\"shared\":{\"frames\":["
			   "{\"name\":\"main\",\"file\":\"m.c\",\"line\":1},"
			   "{\"name\":\"work\",\"file\":\"w.c\",\"line\":1},"
			   "{\"name\":\"square\",\"file\":\"v.h\",\"line\":1},"
			   "{\"name\":\"[unattributed]\"}]},\"profiles\":["
			   "{\"type\":\"sampled\",\"name\":\"prog (pid 100, tid 100)\","
			   "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":11000000,"
			   "\"samples\":[[0,1,2],\n[3]],\n\"weights\":[3000000,8000000]},"
			   "{\"type\":\"sampled\",\"name\":\"prog/worker (pid 100, tid 101)\","
			   "\"unit\":\"nanoseconds\",\"startValue\":3000000,\"endValue\":7000000,"
			   "\"samples\":[[1]],\n\"weights\":[4000000]}]}\n");
	profile_free(profile);
}

/* A tenth of a millisecond. */
#define TENTH UINT64_C(100000)

TEST(speedscope, idle_fills_the_recording)
{
	struct export_options idle = {.idle = true};
	struct made made = made_begin();
	struct profile *profile;

	made.time_ns = 10 * TENTH;
	made_sample(&made, "main", 0)->cpu_ns = 4 * TENTH; /* [6, 10) */
	made.time_ns = 20 * TENTH;
	made_sample(&made, "main", 0)->cpu_ns = 10 * TENTH; /* [10, 20): continues */
	made.time_ns = 25 * TENTH;
	made_sample(&made, "nap", 0)->blocked_ns = 5 * TENTH;
	made_sample(&made, "main", 0)->cpu_ns = 9 * TENTH; /* carried forward: more than there is */
	made.time_ns = 40 * TENTH;
	made_sample(&made, "main", 0)->cpu_ns = 1 * TENTH; /* [39, 40) */
	made.profile->meta.duration_ns = 50 * TENTH;
	profile = made_end(&made);
	assert_export(EXPORT_SPEEDSCOPE, profile, &idle,
		      HEAD "\"activeProfileIndex\":0,\"shared\":{\"frames\":["
			   "{\"name\":\"main\"}]},\"profiles\":["
			   "{\"type\":\"sampled\",\"name\":\"prog (pid 100, tid 100)\","
			   "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":5000000,"
			   "\"samples\":[[],\n[0],\n[],\n[0],\n[]],\n"
			   "\"weights\":[600000,2300000,1000000,100000,1000000]}]}\n");
	profile_free(profile);
}

TEST(speedscope, counts_have_no_unit)
{
	struct export_options samples = {.metric = METRIC_SAMPLES};
	struct made made = made_begin();
	struct profile *profile;

	made.time_ns = 1000;
	made_sample(&made, "main\x01\"</script>", 1)->nr = 5;
	profile = made_end(&made);
	assert_export(EXPORT_SPEEDSCOPE, profile, &samples,
		      HEAD "\"activeProfileIndex\":0,\"shared\":{\"frames\":["
			   "{\"name\":\"main\\u0001\\\"\\u003c/script>\"}]},\"profiles\":["
			   "{\"type\":\"sampled\",\"name\":\"prog (pid 100, tid 100)\","
			   "\"unit\":\"none\",\"startValue\":0,\"endValue\":5,"
			   "\"samples\":[[0]],\n\"weights\":[5]}]}\n");
	profile_free(profile);
}

TEST(speedscope, merged_threads_are_in_time_order)
{
	struct export_options merge = {.threads = EXPORT_THREADS_MERGE};
	struct made made = made_begin();
	struct profile *profile;

	made_sample(&made, "first", 1);
	made_sample(&made, "third", 2);
	made_thread(&made, 100, 101, "worker");
	made.time_ns = 1000000;
	made_sample(&made, "second", 1); /* recorded last, taken at 2 ms */
	profile = made_end(&made);
	assert_export(EXPORT_SPEEDSCOPE, profile, &merge,
		      HEAD "\"activeProfileIndex\":0,\"shared\":{\"frames\":["
			   "{\"name\":\"first\"},{\"name\":\"third\"},"
			   "{\"name\":\"second\"}]},\"profiles\":["
			   "{\"type\":\"sampled\",\"name\":\"prog\","
			   "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":4000000,"
			   "\"samples\":[[0],\n[2],\n[1]],\n"
			   "\"weights\":[1000000,1000000,2000000]}]}\n");
	profile_free(profile);
}
