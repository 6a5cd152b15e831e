/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates addresses of an ELF file as addr2line does. */
#ifndef PROFC_SYMBOL_ADDR2LINE_H
#define PROFC_SYMBOL_ADDR2LINE_H

#include <stdbool.h>

struct err;
struct sink;
struct symbol_options;

/* Languages whose names are demangled: addr2line's styles. */
enum demangle_style {
	DEMANGLE_STYLE_AUTO,
	DEMANGLE_STYLE_NONE,
	DEMANGLE_STYLE_GNU_V3, /* C++ */
	DEMANGLE_STYLE_GNAT,
	DEMANGLE_STYLE_DLANG,
	DEMANGLE_STYLE_RUST,
};

/* The output that addr2line's options ask for. */
struct addr2line_format {
	bool addresses, functions, inlines, demangle, basenames, pretty;
	enum demangle_style style;
};

struct addr2line;

/*
 * Open the file `exe`. Addresses are relative to `section`; if that is NULL, as they are loaded.
 * ERR_NOT_FOUND if there is no such section; else fails as symbol_file_open() does. The options and
 * the format are borrowed until the end.
 */
int addr2line_open(const char *exe, const char *section, const struct symbol_options *options,
		   const struct addr2line_format *format, struct addr2line **opened,
		   struct err *err);
void addr2line_close(struct addr2line *addr2line);

/*
 * Ask for an address in hexadecimal, or for "FUNCTION" or "FUNCTION+OFFSET". Any other text means
 * the address 0, as in addr2line.
 */
void addr2line_ask(struct addr2line *addr2line, const char *text);
/* Are there questions without an answer? */
bool addr2line_was_asked(const struct addr2line *addr2line);
/*
 * Answer the questions asked since the last answers. Returns a message about a problem with the
 * file, borrowed until the answers are printed, or NULL.
 */
const char *addr2line_resolve(struct addr2line *addr2line);
/* Print the answers, in the order of the questions. Call it after addr2line_resolve(). */
void addr2line_print(struct addr2line *addr2line, struct sink *out);

#endif
