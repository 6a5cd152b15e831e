// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of a C library that make one system call each. */
#include "naming/wrappers.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/syscall_name.h"

const char wrappers_witness[] = "__libc_start_main";

/* Higher numbers are not in use on any machine. */
#define NR_CALLS 1024

static bool is_left_out(const char *name)
{
	static const char *const left_out[] = {"exit",	"exit_group", "vfork",	      "fork",
					       "clone", "clone3",     "rt_sigreturn", "sigreturn"};

	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (strcmp(name, left_out[i]) == 0)
			return true;
	return false;
}

void wrappers_compile(regex_t *regex)
{
	static const char *const machines[] = {"x86_64", "aarch64"};
	struct buf text = {0};
	int status;

	/* These call recvfrom(2) and sendto(2). */
	buf_append_str(&text, "^(recv|send");
	for (size_t machine = 0; machine < ARRAY_SIZE(machines); machine++) {
		for (int nr = 0; nr < NR_CALLS; nr++) {
			const char *name = syscall_name(machines[machine], nr);

			if (name && !is_left_out(name))
				buf_printf(&text, "|%s", name);
		}
	}
	buf_append_str(&text, ")$");
	status = regcomp(regex, buf_str(&text), REG_EXTENDED | REG_NOSUB);
	assert(status == 0);
	(void)status;
	buf_release(&text);
}
