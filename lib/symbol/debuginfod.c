// SPDX-License-Identifier: GPL-2.0-or-later
/* Fetches debug information from debuginfod servers. */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/debug_file.h"

#ifdef PROFC_STATIC

/*
 * The linker takes this in place of dlopen(), which libdw calls as well: a library would bring
 * another libc along.
 */
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name, (void)flags;
	return NULL;
}

int debuginfod_fetch(const struct build_id *build_id, const struct debuginfod_patience *patience,
		     char **path)
{
	(void)build_id, (void)patience, (void)path;
	return -1;
}

#else

/*
 * The library is loaded on demand, as it depends on curl and TLS and most users have no server. Its
 * interface is that of elfutils' debuginfod.h.
 */
typedef struct debuginfod_client *(*begin_fn)(void);
typedef void (*end_fn)(struct debuginfod_client *);
typedef int (*progress_fn)(struct debuginfod_client *, long, long);
typedef void (*set_progress_fn)(struct debuginfod_client *, progress_fn);
typedef void (*set_user_data_fn)(struct debuginfod_client *, void *);
typedef void *(*get_user_data_fn)(struct debuginfod_client *);
typedef int (*find_fn)(struct debuginfod_client *, const unsigned char *, int, char **);

static const char library_name[] = "libdebuginfod.so.1";

struct library {
	begin_fn begin;
	end_fn end;
	set_progress_fn set_progress;
	set_user_data_fn set_user_data;
	find_fn find;
};

/* POSIX lets the object pointer of dlsym() be a function's; ISO C has no cast that says so. */
static bool load(void *handle, const char *name, void *function, size_t nr_bytes)
{
	void *found = dlsym(handle, name);

	memcpy(function, &found, nr_bytes);
	return found != NULL;
}

static bool load_all(void *handle, struct library *library)
{
	return load(handle, "debuginfod_begin", &library->begin, sizeof(library->begin)) &&
	       load(handle, "debuginfod_end", &library->end, sizeof(library->end)) &&
	       load(handle, "debuginfod_set_progressfn", &library->set_progress,
		    sizeof(library->set_progress)) &&
	       load(handle, "debuginfod_set_user_data", &library->set_user_data,
		    sizeof(library->set_user_data)) &&
	       load(handle, "debuginfod_find_debuginfo", &library->find, sizeof(library->find));
}

static bool is_over(const struct debuginfod_patience *patience)
{
	return clock_monotonic_ns() > patience->deadline_ns ||
	       (patience->ended && atomic_load(patience->ended));
}

/*
 * Called by the library while it waits; returning anything but 0 stops it. Its only argument is the
 * client, through which the patience is looked up.
 */
static int check_patience(struct debuginfod_client *client, long done, long whole)
{
	void *handle = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
	get_user_data_fn get_user_data;
	int give_up = 1;

	(void)done, (void)whole;
	if (!handle)
		return give_up;
	if (load(handle, "debuginfod_get_user_data", &get_user_data, sizeof(get_user_data)))
		give_up = is_over(get_user_data(client));
	dlclose(handle);
	return give_up;
}

static int ask(const struct library *library, const struct build_id *build_id,
	       const struct debuginfod_patience *patience, char **path)
{
	struct debuginfod_patience own = *patience; /* the library wants it writable */
	struct debuginfod_client *client = library->begin();
	int fd;

	if (!client)
		return -1;
	library->set_user_data(client, &own);
	library->set_progress(client, check_patience);
	fd = library->find(client, build_id->bytes, (int)build_id->nr, path);
	library->end(client);
	return fd;
}

int debuginfod_fetch(const struct build_id *build_id, const struct debuginfod_patience *patience,
		     char **path)
{
	struct library library;
	void *handle;
	int fd = -1;

	if (build_id->nr == 0 || is_over(patience))
		return -1;
	handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return -1;
	if (load_all(handle, &library))
		fd = ask(&library, build_id, patience, path);
	dlclose(handle);
	return fd;
}

#endif
