/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_FUNCTIONS_H
#define PROFC_SYMBOL_FUNCTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

/*
 * All functions with code in a file, and searches among them by name. Sources are the symbol tables
 * of the file and of its debug file, minidebuginfo, Go's table, and debug information for code
 * without symbols. Stubs of procedure linkage tables and labels inside functions are no functions.
 * Thunks are functions, and so is each of several static functions with one name.
 */
struct symbol_functions;

enum symbol_function_kind {
	SYMBOL_FUNCTION_WHOLE,
	/*
	 * Code that a compiler moved out of a function: reaching it is no call of the function,
	 * although reports show it under the function's name.
	 */
	SYMBOL_FUNCTION_PART,
	/* As the program starts, this code chooses another function for the name. */
	SYMBOL_FUNCTION_IFUNC,
};

/* Without debug information the number of inlined copies is unknown. */
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
	 * The number of copies inlined in other functions, in the whole file: running such a copy
	 * is no call. All clones and parts of a function have the same number.
	 */
	uint32_t nr_inlined;
};

/* A function without code of its own: it is never called. */
struct symbol_inlined_function {
	const char *name; /* belongs to the symbol_functions */
	uint32_t nr_inlined;
};

/*
 * The file must outlive the functions, and no other thread may use it meanwhile. There are none if
 * the file is not the requested one (symbol_file_mismatch()).
 */
struct symbol_functions *symbol_functions_new(struct symbol_file *file);
void symbol_functions_free(struct symbol_functions *functions); /* may be NULL */

/* Forget what searches have found, except names: the caller has nothing of it any more. */
void symbol_functions_trim(struct symbol_functions *functions);

/* The number of functions; all names of one address are one function. */
size_t symbol_functions_nr(const struct symbol_functions *functions);

/* The last function that begins up to an address, or NULL. It need not have a name. */
const struct symbol_function *symbol_functions_before(struct symbol_functions *functions,
						      uint64_t address);
/* The addresses at which functions begin, ascending. The caller frees the array. */
uint64_t *symbol_functions_starts(const struct symbol_functions *functions, size_t *nr);
/* The end of that function of these, as struct symbol_function has it, and its kind. */
uint64_t symbol_functions_end(const struct symbol_functions *functions, size_t index,
			      enum symbol_function_kind *kind);

/*
 * The functions with exactly this linkage name, or an alias, by its symbol: without versions, and
 * without suffixes of clones and parts. They need not have names. The caller frees the array.
 */
const struct symbol_function **symbol_functions_linked_as(struct symbol_functions *functions,
							  const char *linkage_name, size_t *nr);

/* Are there any? Quicker where that is all that is asked. */
bool symbol_functions_has_linked_as(const struct symbol_functions *functions,
				    const char *linkage_name);

/*
 * The functions with a name that the regular expression matches, by address; NULL: all. The names
 * of a function are: the name in reports; demangled names, with and without parameters and template
 * arguments; linkage names; the same of its aliases. Versions are left out (memcpy for
 * memcpy@@GLIBC_2.14); suffixes of clones and parts may be (f for f.cold). `word`, of letters,
 * digits and underscores, is in all that matches, which spares most of the work; or NULL. The
 * caller frees the array.
 */
const struct symbol_function **symbol_functions_find(struct symbol_functions *functions,
						     const regex_t *regex, const char *word,
						     size_t *nr);

/*
 * The same, but most of them have no name, file and line yet, which take most of the time of a
 * search; they have if a `.part.` of a function is found, and so do all that may be the rest of it.
 */
const struct symbol_function **symbol_functions_match(struct symbol_functions *functions,
						      const regex_t *regex, const char *word,
						      size_t *nr);
/* Name the functions that begin at these ascending addresses. NULL where none with a name does. */
void symbol_functions_name(struct symbol_functions *functions, const uint64_t *starts, size_t nr,
			   const char **names);

/* The functions with exactly `name` among their names, likewise. */
const struct symbol_function **symbol_functions_called(struct symbol_functions *functions,
						       const char *name, size_t *nr);

/*
 * Find a function that is inlined everywhere and has a name that matches; of several, that with the
 * most copies. For a search that found no other function. False if there is none.
 */
bool symbol_functions_find_inlined(struct symbol_functions *functions, const regex_t *regex,
				   struct symbol_inlined_function *found);

/*
 * The name most similar to a pattern that matches no function, in its short form, or NULL. Belongs
 * to the symbol_functions.
 */
const char *symbol_functions_nearest(struct symbol_functions *functions, const char *pattern);

#endif
