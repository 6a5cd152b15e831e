// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads the library of its first argument, waits until that was seen, and takes N blocks of it. With
 * one more argument it ends at once then.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_sec = 1, .tv_nsec = 500000000};
	void *library = argc >= 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*get)(size_t) = library ? (void *(*)(size_t))dlsym(library, "library_get") : NULL;
	void *volatile kept;

	if (!get)
		return 3;
	nanosleep(&pause, NULL);
	for (int i = 0; i < atoi(argv[2]); i++)
		kept = get(3000);
	if (argc > 3)
		_exit(kept == NULL);
	nanosleep(&pause, NULL); /* until its stacks were walked: then the library is looked for */
	return kept == NULL;
}
