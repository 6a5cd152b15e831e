/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_FUNCTIONS_H
#define PROFC_SYMBOL_FUNCTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

/*
 * All functions with code in a file, and those among them that a name means. They are taken from
 * the symbol tables of the file and of its debug file, minidebuginfo, Go's table, and debug
 * information where no symbol is. Stubs of procedure linkage tables are no functions, nor are
 * labels inside of functions; thunks are, and so is each of several static ones of one name.
 */
struct symbol_functions;

enum symbol_function_kind {
	SYMBOL_FUNCTION_WHOLE,
	/*
	 * Code that a compiler moved out of a function: that it is reached is no call of the
	 * function, of which it bears the name in reports.
	 */
	SYMBOL_FUNCTION_PART,
	/* The code here chooses, when the program starts, which other function bears the name. */
	SYMBOL_FUNCTION_IFUNC,
};

/* No debug information tells how often it was inlined. */
#define SYMBOL_INLINED_UNKNOWN UINT32_MAX

/* Texts belong to the symbol_functions. */
struct symbol_function {
	const char *name;	  /* as reports show it: demangled */
	const char *linkage_name; /* as in the symbol table; NULL when there is no symbol */
	const char *file;	  /* where it is defined; NULL when unknown */
	uint32_t line;		  /* of the definition; 0 when unknown */
	uint64_t start, end;	  /* as symbol_file_resolve() takes them; equal: size not known */
	enum symbol_function_kind kind;
	/*
	 * How many copies of it, in all of the file, stand inside of other functions: what runs
	 * there is no call. All clones and parts of a function say the same number.
	 */
	uint32_t nr_inlined;
};

/* A function that has no code of its own, so that it is never called. */
struct symbol_inlined_function {
	const char *name; /* belongs to the symbol_functions */
	uint32_t nr_inlined;
};

/*
 * The file must outlive them, and is not to be used meanwhile by another thread. There are none
 * if it is not the one requested (symbol_file_mismatch()).
 */
struct symbol_functions *symbol_functions_new(struct symbol_file *file);
void symbol_functions_free(struct symbol_functions *functions); /* may be NULL */

/* How many places of code have a function; those of one place are one. */
size_t symbol_functions_nr(const struct symbol_functions *functions);

/*
 * Those that a regular expression is found in one of the names of, by address; NULL: all. The
 * names of a function are that in reports, demangled ones with and without parameters and
 * template arguments, linkage names, and the same of its aliases, without their versions (memcpy
 * of memcpy@@GLIBC_2.14), with and without the suffixes of clones and parts (f of f.cold). The
 * caller frees the array.
 */
const struct symbol_function **symbol_functions_find(struct symbol_functions *functions,
						     const regex_t *regex, size_t *nr);

/* The same for functions with exactly `name` among their names. */
const struct symbol_function **symbol_functions_called(struct symbol_functions *functions,
						       const char *name, size_t *nr);

/*
 * A function that is inlined everywhere and has a name that matches: the one with the most copies.
 * For a search that has found nothing else. False when there is none.
 */
bool symbol_functions_find_inlined(struct symbol_functions *functions, const regex_t *regex,
				   struct symbol_inlined_function *found);

/*
 * The name, short as in tables, that a pattern which means no function was perhaps meant to be; or
 * NULL. Belongs to the symbol_functions.
 */
const char *symbol_functions_nearest(struct symbol_functions *functions, const char *pattern);

#endif
