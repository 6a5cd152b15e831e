/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that say where profiles are pushed to, and as what. */
#ifndef PROFC_CMD_PUSH_OPTIONS_H
#define PROFC_CMD_PUSH_OPTIONS_H

#include "cmd/options.h"
#include "push/receiver.h"

struct err;

struct push_options {
	const char *receiver;	   /* NULL: nothing is pushed */
	struct option_list labels; /* NAME=VALUE */
	const char *header_path;
	bool quiet; /* say nothing of what was delivered */
};

// clang-format off
#define PUSH_OPTION_ROWS(values, member)                                                           \
	{.type = OPTION_STRING, .name = "push", .argument = "URL|DIR/",                            \
	 .offset = offsetof(values, member.receiver),                                              \
	 .help = "send one pprof file for each metric to pyroscope+https://HOST, "                 \
		 "parca+https://HOST (or +http), or a directory"},                                 \
	{.type = OPTION_LIST, .name = "push-label", .argument = "NAME=VALUE",                          \
	 .offset = offsetof(values, member.labels),                                                \
	 .help = "push: a label, such as service_name=shop or region=eu; repeatable"},             \
	{.type = OPTION_FILE, .name = "push-header-file", .argument = "FILE",                      \
	 .offset = offsetof(values, member.header_path),                                           \
	 .help = "push: send the lines of FILE as headers: tokens, tenants"}
// clang-format on

/* The options, read. Zero-initialised is nothing to push. */
struct push_target {
	bool is_wanted;
	struct push_receiver receiver;
	const struct push_options *options; /* borrowed */
};

/*
 * ERR_INVALID: they make no sense. Warns if others can read the file of headers, or if these go
 * unencrypted over a network.
 */
int push_options_apply(const struct push_options *options, struct push_target *target,
		       struct err *err);
void push_target_release(struct push_target *target);

#endif
