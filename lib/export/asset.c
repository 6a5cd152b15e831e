// SPDX-License-Identifier: GPL-2.0-or-later
/* Embeds the scripts and style sheets of the HTML and SVG exports. */
#include "export/asset_priv.h"

#include <stdint.h>

/*
 * The compiler and the assembler run from the top of the tree, where the paths start. The names are
 * hidden, for the linker of aarch64 knows one address alone of a section that is reached by its
 * table of addresses (GOT).
 */
#define HIDDEN __attribute__((visibility("hidden")))
#define ASSET(name, path)                                                                          \
	extern const char name##_bytes[] HIDDEN;                                                   \
	extern const uint64_t name##_nr_bytes HIDDEN;                                              \
	__asm__(".pushsection .rodata\n"                                                           \
		".balign 8\n" #name "_nr_bytes:\n.quad 1f - " #name "_bytes\n" #name               \
		"_bytes:\n.incbin \"" path "\"\n1:\n"                                              \
		".popsection\n");                                                                  \
	struct asset asset_##name(void)                                                            \
	{                                                                                          \
		return (struct asset){name##_bytes, name##_nr_bytes};                              \
	}

ASSET(flamegraph_js, "lib/export/flamegraph.js")
ASSET(base_css, "lib/export/page/base.css")
ASSET(page_css, "lib/export/page/page.css")
ASSET(page_html, "lib/export/page/page.html")
ASSET(whatif_css, "lib/export/page/whatif.css")
/* The main script, in the order in which the files need each other. */
#define PART "\"\n.incbin \"lib/export/page/"
ASSET(page_reader_js, "lib/export/page/reader.js")
ASSET(page_js, "lib/export/page/format.js" PART "data.js" PART "state.js" PART "tally.js" PART
	       "select.js" PART "waits.js" PART "trees.js" PART "colors.js" PART "tip.js" PART
	       "search.js" PART "rows.js" PART "copy.js" PART "axis.js" PART "minimap.js" PART
	       "flame.js" PART "sandwich.js" PART "chart.js" PART "tree.js" PART "table.js" PART
	       "source.js" PART "waiting.js" PART "memory_chart.js" PART "memory.js" PART
	       "spans.js" PART "threads.js" PART "chain.js" PART "marks.js" PART "heat.js" PART
	       "time.js" PART "header.js" PART "main.js")
