// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses what the kernel shows of its own stack of a sleeping thread. */
#include "proc/kernel_stack.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

/* As long as the kernel's own names (KSYM_NAME_LEN). */
#define NAME_MAX_BYTES 512

/* Of x86-64, then of aarch64; of kernels from 5.4 to 6.18. */
static const char *const entries[] = {
	"x64_sys_call",
	"do_syscall_64",
	"entry_SYSCALL_64",
	"entry_SYSCALL_64_after_hwframe",
	"do_fast_syscall_32",
	"__do_fast_syscall_32",
	"do_SYSENTER_32",
	"entry_SYSENTER_compat_after_hwframe",
	"entry_SYSCALL_compat_after_hwframe",
	"do_int80_syscall_32",
	"do_int80_emulation",
	"asm_int80_emulation",
	"entry_INT80_compat",
	"exc_page_fault",
	"asm_exc_page_fault",
	"page_fault",
	"ret_from_fork",
	"ret_from_fork_asm",
	"invoke_syscall",
	"do_el0_svc",
	"el0_svc",
	"el0_svc_common",
	"el0_svc_handler",
	"el0_da",
	"el0_ia",
	"el0_sync",
	"el0_sync_handler",
	"el0t_64_sync",
	"el0t_64_sync_handler",
};

/* Compilers add suffixes such as ".constprop.0". */
static bool is_entry(const struct kernel_function *function)
{
	const char *dot = memchr(function->name, '.', function->nr_bytes);
	size_t nr_bytes = dot ? (size_t)(dot - function->name) : function->nr_bytes;

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (strlen(entries[i]) == nr_bytes &&
		    memcmp(entries[i], function->name, nr_bytes) == 0)
			return true;
	}
	return false;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Lines of a stack have an offset after the name, unless they are cut. */
static bool take_name(const char *line, const char *end, struct kernel_function *out)
{
	const char *bracket = memchr(line, ']', (size_t)(end - line));
	const char *name = bracket ? bracket + 1 : line;
	size_t nr = 0;

	while (name < end && *name == ' ')
		name++;
	while (name + nr < end && is_of_name(name[nr]))
		nr++;
	if (!nr || nr > NAME_MAX_BYTES || isdigit((unsigned char)name[0]) ||
	    (name + nr < end ? name[nr] != '+' : line[0] == '['))
		return false;
	*out = (struct kernel_function){.name = name, .nr_bytes = nr};
	return true;
}

size_t kernel_stack_parse(const char *text, size_t nr_bytes,
			  struct kernel_function out[KERNEL_STACK_MAX])
{
	const char *end = text + nr_bytes;
	size_t nr = 0;

	while (text < end && nr < KERNEL_STACK_MAX) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		nr += take_name(text, newline ? newline : end, &out[nr]);
		text = newline ? newline + 1 : end;
	}
	while (nr && is_entry(&out[nr - 1]))
		nr--;
	return nr;
}
