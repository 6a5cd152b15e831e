// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that samples show, but that was gone before the prober looked: mostly plugins. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "elf/elf_image.h"
#include "probe/prober_priv.h"
#include "probe/prober_publish_priv.h"
#include "profile/profile.h"

/* A pattern may match thousands of functions of such a file: the first ones are enough. */
#define NAMES_MAX 20

static bool is_looked_at(const struct prober *prober, const struct module *module)
{
	for (size_t i = 0; i < prober->files.nr; i++) {
		if (prober->files.at[i]->inode == module->inode &&
		    prober->files.at[i]->dev == module->dev)
			return true;
	}
	return false;
}

/* The process that had it is not known any more: the row names the first one. */
static void tell(struct profile *profile, const struct module *module, const char *name)
{
	static const char reason[] = "its file was mapped too briefly to be found in time";

	profile_add_refusal(
		profile, &(struct profile_refusal){.process = 0,
						   .function = profile_intern(profile, name),
						   .module = profile_intern(profile, module->path),
						   .reason = profile_intern(profile, reason)});
}

/* -1: the file that was mapped is not there any more. */
static int open_module(const struct module *module)
{
	struct stat found;
	int fd;

	if (module->fd >= 0)
		return fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
	fd = chosen_file_open(module->path, module->owner, &found);
	if (fd >= 0 &&
	    (found.st_ino != module->inode || (uint64_t)found.st_size != module->file_bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void tell_wanted(struct prober *prober, struct profile *profile, const struct module *module)
{
	struct prober_file *file = xcalloc(1, sizeof(*file));
	const char *last = "";
	size_t nr = 0;

	file->path = xstrdup(module->path);
	file->fd = open_module(module);
	if (file->fd >= 0)
		file->image = elf_image_open(file->fd, NULL);
	if (file->image)
		prober_file_search(prober, file);
	for (size_t i = 0; i < file->wanted.nr_places && nr < NAMES_MAX; i++) {
		const struct counted_place place = {.wanted = (uint32_t)i, .file = file};
		const char *name;

		if (!wanted_is_told(&file->wanted, &file->wanted.places[i], PATCH_OK))
			continue;
		name = prober_name_of(prober, &place);
		if (strcmp(name, last) == 0)
			continue;
		last = name;
		tell(profile, module, name);
		nr++;
	}
	prober_forget_names(prober);
	prober_file_free(file);
}

void prober_publish_missed(struct prober *prober, struct profile *profile)
{
	pthread_mutex_lock(&prober->install_lock);
	for (uint32_t i = 0; profile->nr_processes && i < module_table_nr(profile->modules); i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		if (module->kind == MODULE_KIND_FILE && !is_looked_at(prober, module))
			tell_wanted(prober, profile, module);
	}
	pthread_mutex_unlock(&prober->install_lock);
}
