// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The readers of /proc and of perf maps on any text. The first byte chooses the
 * reader.
 */
#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/mounts.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "proc/kernel_stack.h"
#include "proc/maps.h"
#include "proc/sockets.h"
#include "proc/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void read_maps(const char *text, size_t nr_bytes)
{
	struct proc_maps_iter iter = proc_maps_over(text, nr_bytes);
	struct proc_map map;
	struct buf path = {0};

	while (proc_maps_next(&iter, &map) == 1) {
		assert(map.path >= text && map.path + map.nr_path_bytes <= text + nr_bytes);
		buf_clear(&path);
		(void)proc_map_path(&map, &path);
		assert(path.nr_bytes <= map.nr_path_bytes);
	}
	buf_release(&path);
}

static void read_mounts(const char *text, size_t nr_bytes)
{
	struct mounts_iter iter = mounts_over(text, nr_bytes);
	struct mount_line mount;

	while (mounts_next(&iter, &mount)) {
		assert(mount.options >= text && mount.type > mount.options);
		assert(mount.type + mount.nr_type_bytes <= text + nr_bytes);
		(void)mount_line_has_option(&mount, "nosuid");
	}
}

static void read_sockets(const char *text, size_t nr_bytes)
{
	struct proc_sockets sockets = {0};

	proc_sockets_add_inet(&sockets, text, nr_bytes);
	proc_sockets_add_unix(&sockets, text, nr_bytes);
	for (size_t i = 0; i < sockets.nr; i++)
		assert(proc_sockets_find(&sockets, sockets.rows[i].inode));
	proc_sockets_release(&sockets);
}

/* No process has the number 0, so that no file of this machine is opened by what the text says. */
static void update_space(const char *text, size_t nr_bytes)
{
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, 0);

	(void)space_update(space, text, nr_bytes, NULL);
	(void)space_update(space, text, nr_bytes / 2, NULL);
	for (size_t i = 0; i < space_nr_mappings(space); i++) {
		const struct mapping *mapping = space_mapping_at(space, i);

		assert(mapping->start < mapping->end);
		assert(space_find(space, mapping->start) == mapping);
		(void)space_locate(space, mapping->end - 1);
	}
	space_free(space);
	module_table_free(modules);
}

static void read_kernel_stack(const char *text, size_t nr_bytes)
{
	struct kernel_function functions[KERNEL_STACK_MAX];
	size_t nr = kernel_stack_parse(text, nr_bytes, functions);

	for (size_t i = 0; i < nr; i++) {
		assert(functions[i].nr_bytes && functions[i].name >= text);
		assert(functions[i].name + functions[i].nr_bytes <= text + nr_bytes);
	}
}

static void read_task(const char *text, size_t nr_bytes)
{
	struct proc_schedstat schedstat;
	struct proc_stat stat;
	struct proc_syscall syscall;
	struct proc_status status;

	(void)proc_schedstat_parse(text, nr_bytes, &schedstat);
	if (proc_stat_parse(text, nr_bytes, &stat))
		assert(memchr(stat.comm, '\0', sizeof(stat.comm)));
	(void)proc_syscall_parse(text, nr_bytes, &syscall);
	(void)proc_status_parse(text, nr_bytes, &status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	const char *text = (const char *)bytes + 1;

	if (!nr_bytes)
		return 0;
	if (bytes[0] == 'm') {
		read_maps(text, nr_bytes - 1);
		update_space(text, nr_bytes - 1);
	} else if (bytes[0] == 'i') {
		read_mounts(text, nr_bytes - 1);
	} else if (bytes[0] == 's') {
		read_sockets(text, nr_bytes - 1);
	} else if (bytes[0] == 'k') {
		read_kernel_stack(text, nr_bytes - 1);
	} else {
		read_task(text, nr_bytes - 1);
	}
	return 0;
}
