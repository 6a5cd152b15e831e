// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of scripts in each format: with their file and line, and no address. */
#include "tests/unit/export_text.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

static struct profile *script_and_native(void)
{
	struct made made = made_begin();

	made_sample(&made, "main@m.c:7;app.py!run@/srv/app.py:9;libm.so!sqrt", 1);
	made_sample(&made, "main@m.c:7;app.py!run@/srv/app.py:8", 2);
	made_sample(&made, "main@m.c:7;app.py!<module>@/srv/b.py:3", 4);
	return made_end(&made);
}

static void assert_has(enum export_kind kind, const char *expected)
{
	struct profile *profile = script_and_native();
	struct sink sink = export_made(kind, profile, NULL);

	if (!strstr(buf_str(&sink.pending), expected))
		assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	profile_free(profile);
}

TEST(export_scripts, folded_stacks_name_their_place)
{
	struct profile *profile = script_and_native();

	assert_export(EXPORT_FOLDED, profile, NULL,
		      "prog;main;run (app.py:1);sqrt 1000000\n"
		      "prog;main;run (app.py:1) 2000000\n"
		      "prog;main;<module> (b.py:1) 4000000\n");
	profile_free(profile);
}

TEST(export_scripts, texts_of_perf_have_it_as_their_module)
{
	struct profile *profile = script_and_native();

	assert_export(EXPORT_PERF_SCRIPT, profile, NULL,
		      "prog 100/100 [000] 0.001000: 1000000 cpu:\n"
		      "\t               4 sqrt (/bin/libm.so)\n"
		      "\t               0 run (/bin/app.py:1)\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "prog 100/100 [000] 0.003000: 2000000 cpu:\n"
		      "\t               0 run (/bin/app.py:1)\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n"
		      "prog 100/100 [000] 0.007000: 4000000 cpu:\n"
		      "\t               0 <module> (/bin/app.py:1)\n"
		      "\t               2 main (/bin/prog)\n"
		      "\n");
	profile_free(profile);
}

TEST(export_scripts, firefox_has_a_category_for_them)
{
	assert_has(EXPORT_FIREFOX, "\"address\":[2,-1,4,-1,-1]");
	assert_has(EXPORT_FIREFOX, "\"category\":[1,2,1,2,2]");
	assert_has(EXPORT_FIREFOX, "\"isJS\":[false,true,false,true]");
	assert_has(EXPORT_FIREFOX, "{\"name\":\"Script\",\"color\":\"blue\"");
	assert_has(EXPORT_FIREFOX, "\"lib\":[0,null,2],");
	assert_has(EXPORT_FIREFOX, "\"type\":[1,5,1],");
}

TEST(export_scripts, other_formats_have_members_for_it)
{
	assert_has(EXPORT_SPEEDSCOPE, "{\"name\":\"run\",\"file\":\"/srv/app.py\",\"line\":1}");
	assert_has(EXPORT_CHROME, "\"name\":\"run (app.py:1)\"}");
	assert_has(EXPORT_CALLGRIND, "cfi=(2) /srv/app.py\ncfn=(2) run\ncalls=1 1\n7 3000000\n");
	assert_has(EXPORT_FLAMEGRAPH, "<title>run (app.py:1), ");
	assert_has(EXPORT_JSON, "\"name\":\"run\"");
}
