// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "export/whatif_page.h"
#include "tests/unit/made_whatif.h"
#include "tests/unit/unit.h"

static struct sink page_of(const struct made_whatif *made)
{
	struct sink sink = SINK_MEMORY;

	whatif_write_html(&made->facts, &sink);
	return sink;
}

/* The texts stand in this order, other text between them. */
static void assert_order(struct sink *page, const char *const *texts, size_t nr)
{
	const char *at = buf_str(&page->pending);

	for (size_t i = 0; i < nr; i++) {
		const char *found = strstr(at, texts[i]);

		if (!found)
			fail_msg("no %s in %s", texts[i], at);
		at = found + strlen(texts[i]);
	}
}

#define assert_page(page, ...)                                                                     \
	do {                                                                                       \
		const char *const texts_[] = {__VA_ARGS__};                                        \
                                                                                                   \
		assert_order(page, texts_, sizeof(texts_) / sizeof(*texts_));                      \
	} while (0)

static void assert_lacks(struct sink *page, const char *text)
{
	const char *found = strstr(buf_str(&page->pending), text);

	if (found)
		fail_msg("%s", found);
}

TEST(whatif_page, has_heading_table_and_notes)
{
	struct made_whatif made;
	struct sink page;

	made_whatif_pipeline(&made);
	page = page_of(&made);
	assert_page(&page,
		    "<title>what if it were faster: gain of calls of finish_item, 497/s</title>",
		    "<h1>what if it were faster: gain of calls of finish_item, 497/s</h1>",
		    ">work_a</span></a></th><td class=\"number\">66.5%</td>"
		    "<td class=\"number gain\">+33.0% <span class=\"dim\">\xc2\xb1 2.0</span></td>",
		    "<td>helps up to 50%</td></tr>",
		    ">rest</span></a></th><td class=\"number\">1.5%</td>"
		    "<td class=\"number unsure\">not known</td>",
		    "<td>not measured</td></tr>",
		    "58 trials in 50 s, 148,220 holds: 21% of that time is taken off the clock\n"
		    "6 of them have no result");
	sink_release(&page);
}

/*
 * The scale is from -4.57 to 103.07 (-0.5 - 2.0 and 99 + 2.0, and a fiftieth on either side), which
 * is 194 to 10 in the drawing; 0 to 100 % faster is 62 to 340. Where a gain is not known the curve
 * ends.
 */
TEST(whatif_page, has_a_curve_for_each_function)
{
	struct made_whatif made;
	struct sink page;

	made_whatif_pipeline(&made);
	page = page_of(&made);
	assert_page(
		&page, "<span class=\"name\">work_a</span>: helps up to 50%</h2>",
		"66.5% \xc2\xb1 1.5 of CPU time, work.c:12", "<svg class=\"chart\"",
		"<path class=\"zero\" d=\"M62,186.2H340\"/>",
		"<title>100% faster: not known, it would need more than --max-slowdown</title>"
		"<rect x=\"270.5\" y=\"10\" width=\"69.5\" height=\"184\"/>",
		"<path class=\"promised\" d=\"M62.0,186.2L64.8,185.0L", "L201.0,101.0L",
		"<path class=\"band\" d=\"M62.0,186.2L89.8,164.0L131.5,126.4L201.0,15.2L270.5,13.5"
		"L270.5,20.4L201.0,22.1L131.5,133.2L89.8,170.8L62.0,186.2Z\"/>"
		"<path class=\"curve\" d=\"M62.0,186.2L89.8,167.4L131.5,129.8L201.0,18.7"
		"L270.5,17.0\"/>",
		"<title>25% faster: +33.0% \xc2\xb1 2.0, 3 trials</title>", "</svg>",
		"<span class=\"name\">work_b</span>: no effect</h2>",
		"<path class=\"zero\" d=\"M62,186.2H340\"/>", /* to compare them */
		"<span class=\"name\">rest</span>: not measured</h2>",
		"<title>10% faster: not known, threads could not be held in time\n"
		"25% faster: not known, too few trials\n",
		"<rect x=\"62.0\" y=\"10\" width=\"278.0\" height=\"184\"/>", "</html>\n");
	sink_release(&page);
}

TEST(whatif_page, leaves_a_gap_where_a_gain_is_not_known)
{
	struct made_whatif made;
	struct sink page;

	made_whatif_init(&made);
	made_whatif_add(&made, "f", 40);
	made_whatif_tried(&made, 0, 0, 2);
	made_whatif_tried(&made, 3, 5, 2);
	made_whatif_tried(&made, 4, 5, 2000);
	page = page_of(&made);
	assert_page(&page,
		    "<title>25% faster: not known, too few trials\n"
		    "50% faster: not known, too few trials</title><rect x=\"89.8\" y=\"10\" "
		    "width=\"180.7\"",
		    "<path class=\"curve\" d=\"M62.0,", "L89.8,", "\"/>",
		    "<path class=\"curve\" d=\"M270.5,", "L340.0,", "\"/>");
	/* What its share promises at 50 % is more than any gain; the wide band is cut off. */
	assert_page(&page, ">+20%</text>", "<text class=\"middle\" x=\"62.0\"");
	assert_lacks(&page, ">+50%</text>");
	sink_release(&page);
}

TEST(whatif_page, promises_no_bound_if_nothing_would_be_left)
{
	struct made_whatif made;
	struct sink page;

	made_whatif_init(&made);
	made_whatif_add(&made, "f", 100);
	page = page_of(&made);
	assert_page(&page, "75%</th><td class=\"number\">+300.0%</td>",
		    "100%</th><td class=\"number\">no bound</td>");
	assert_lacks(&page, "inf");
	assert_lacks(&page, "nan");
	sink_release(&page);
}

TEST(whatif_page, cuts_long_names_in_the_middle)
{
	static const char name[] =
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >& "
		"join<std::__cxx11::list<char>, std::allocator<char> >(char const*)";
	struct made_whatif made;
	struct sink page;

	made_whatif_init(&made);
	made_whatif_add(&made, name, 40);
	page = page_of(&made);
	assert_page(&page, "<span class=\"name\" title=\"std::__cxx11::basic_string&lt;char, std::",
		    "\">std::__cxx11::basic\xe2\x80\xa6"
		    "ar&gt;, std::allocator&lt;char&gt; &gt;(char const*)"
		    "</span></a>",
		    "<h2><span class=\"name\" title=\"std::__cxx11::basic_string&lt;char, std::",
		    "\">std::__cxx11::basic_string&lt;char, std::c\xe2\x80\xa6",
		    "(char const*)</span>: not measured</h2>",
		    "<p class=\"name\">std::__cxx11::basic_string&lt;char, std::",
		    "&gt;&amp; join&lt;", "(char const*)</p>\n<table>");
	sink_release(&page);
}

TEST(whatif_page, a_hostile_name_is_text)
{
	static char location[] = "<script>.c:1";
	struct made_whatif made;
	struct sink page;

	made_whatif_init(&made);
	made_whatif_add(&made, "f<b>\"'&</script><img src=x>\x1b[31m\n\xff\xe2\x80\xae", 0.01);
	/* One that is cut, with all of it in an attribute. */
	made_whatif_add(
		&made,
		"\" onclick='x' \"><img src=x><b>a_long_one_that_is_cut_in_the_middle_of_its_name_"
		"\"><img src=x><b>",
		1);
	made.rows[1].location = location;
	made.facts.progress = "calls of </title><script>";
	page = page_of(&made);
	assert_page(&page,
		    "<title>what if it were faster: gain of calls of &lt;/title&gt;&lt;script",
		    "<h1>what if it were faster: gain of calls of &lt;/title&gt;&lt;script",
		    "f&lt;b&gt;&quot;&#39;&amp;&lt;/script&gt;&lt;img src=x&gt;\\x1b[31m\\n\\xff"
		    "\\xe2\\x80\\xae</span></a>",
		    "<td class=\"number\">&lt;0.1%</td>",
		    "aria-label=\"gain of the program by how ", "f&lt;b&gt;&quot;&#39;&amp;&lt;");
	assert_page(
		&page,
		" title=\"&quot; onclick=&#39;x&#39; &quot;&gt;&lt;img src=x&gt;&lt;b&gt;a_long",
		"of CPU time, &lt;script&gt;.c:1");
	assert_lacks(&page, "<b>");
	assert_lacks(&page, "\" onclick");
	assert_lacks(&page, "<script");
	assert_lacks(&page, "<img");
	assert_lacks(&page, "\x1b");
	sink_release(&page);
}

TEST(whatif_page, asks_for_nothing_from_outside)
{
	struct made_whatif made;
	struct sink page;

	made_whatif_pipeline(&made);
	page = page_of(&made);
	assert_page(&page, "content=\"default-src 'none'; style-src 'unsafe-inline'\">");
	assert_lacks(&page, "http:");
	assert_lacks(&page, "https:");
	assert_lacks(&page, "@import");
	assert_lacks(&page, "src=");
	sink_release(&page);
}
