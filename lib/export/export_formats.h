/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_FORMATS_H
#define PROFC_EXPORT_EXPORT_FORMATS_H

/*
 * A profile as the files of other viewers. Each format is one row here and one file of this room,
 * with its write_NAME(); all of them write the same extract: the samples that pass the filters,
 * thread by thread, with one weight each.
 *
 * A row: its EXPORT_KIND and NAME; its option, without "--"; the customary end of the file name,
 * with its dot; whether its bytes are unsuitable for a terminal; whether it has all metrics, the
 * selected one first; whether it can only have time; the default EXPORT_THREADS_ and EXPORT_NAMES_;
 * its PATH_; the help of its option.
 */
/* clang-format off */
#define EXPORT_FORMATS(FORMAT) \
	FORMAT(SPEEDSCOPE, speedscope, "speedscope", ".speedscope.json", false, false, false, SPLIT, FULL, LABELS, \
	       "JSON for speedscope.app: one profile per thread, in time order") \
	FORMAT(FOLDED, folded, "folded", ".folded", false, false, false, MERGE, FULL, LABELS, \
	       "one line per stack, as read by flame graph scripts") \
	FORMAT(PPROF, pprof, "pprof", ".pb.gz", true, true, false, DEFAULT, SHORT, FRAMES, \
	       "gzipped protobuf for pprof and compatible tools") \
	FORMAT(CHROME, chrome, "chrome", ".trace.json", false, false, true, SPLIT, FULL, LABELS, \
	       "trace events for Perfetto and chrome://tracing; try -m wall") \
	FORMAT(CPUPROFILE, cpuprofile, "cpuprofile", ".cpuprofile", false, false, true, SPLIT, FULL, PLACES, \
	       "V8's CPU profile, for VS Code and Chromium's developer tools") \
	FORMAT(FIREFOX, firefox, "firefox", ".firefox.json", false, false, false, SPLIT, FULL, FRAMES, \
	       "processed profile for profiler.firefox.com") \
	FORMAT(CALLGRIND, callgrind, "callgrind", ".callgrind", false, false, false, MERGE, FULL, PLACES, \
	       "call graph for KCachegrind and callgrind_annotate") \
	FORMAT(PERF_SCRIPT, perf_script, "perf-script", ".perf.txt", false, false, false, SPLIT, FULL, FRAMES, \
	       "text as 'perf script' prints it") \
	FORMAT(JSON, json, "json", ".json", false, false, false, SPLIT, FULL, FRAMES, \
	       "every sample, in plain tables for scripts") \
	FORMAT(FLAMEGRAPH, flamegraph, "flamegraph", ".svg", false, false, false, MERGE, SHORT, LABELS, \
	       "one SVG file with zoom and search, for any browser") \
	FORMAT(HTML, html, "html", ".html", false, true, false, MERGE, SHORT, FRAMES, \
	       "one page for any browser: flame graph, time order, callers, tree, source")

enum export_kind {
#define KIND(kind, ...) EXPORT_##kind,
	EXPORT_FORMATS(KIND)
#undef KIND
	EXPORT_KIND_COUNT,
};
/* clang-format on */

#endif
