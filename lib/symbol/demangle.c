// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Demangles names of C++, Rust, D and Ada with libiberty, within bounds on time, stack and size.
 * Does not include base/alloc.h, as libiberty's header declares xstrdup() and others again.
 */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#elif __has_include(<demangle.h>)
#include <demangle.h>
#else
/* Some distributions have libiberty.a without this header; its interface is as old as GCC 3. */
#define DMGL_PARAMS (1 << 0)
#define DMGL_ANSI   (1 << 1)
#define DMGL_GNU_V3 (1 << 14)
#define DMGL_DLANG  (1 << 16)
#define DMGL_RUST   (1 << 17)
extern char *cplus_demangle(const char *mangled, int options);
extern char *ada_demangle(const char *mangled, int options);
typedef void (*demangle_callbackref)(const char *text, size_t nr_bytes, void *opaque);
extern int cplus_demangle_v3_callback(const char *mangled, int options,
				      demangle_callbackref callback, void *opaque);
extern int rust_demangle_callback(const char *mangled, int options, demangle_callbackref callback,
				  void *opaque);
extern char *xstrdup(const char *text);
#endif

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "symbol/demangle.h"

/* Longest name that is demangled: demanglers recurse over their input. */
#define MAX_LINKAGE_NAME_BYTES 65536
/* D's demangler has no limit of its own, and takes some 200 bytes of stack for each byte. */
#define MAX_D_NAME_BYTES 8192

/*
 * Longest result: all schemes have back references, so that a name of 250 letters can expand to
 * gigabytes.
 */
#define MAX_DEMANGLED_BYTES (1 << 18)
/* D's demangler cannot be stopped; two of these double the text. */
#define MAX_D_BACK_REFERENCES 40

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "_ZN…17h<16 hex digits>E": Rust's first scheme is C++'s with a hash as last component. */
static bool is_legacy_rust(const char *name)
{
	const char *hash = strstr(name, "17h");

	while (hash) {
		if (strspn(hash + 3, "0123456789abcdef") >= 16 && hash[19] == 'E')
			return true;
		hash = strstr(hash + 1, "17h");
	}
	return false;
}

struct demangled {
	struct buf text;
	bool is_whole;
	jmp_buf too_long;
};

static void take_text(const char *text, size_t nr_bytes, void *opaque)
{
	struct demangled *out = opaque;

	/* No other way stops a demangler; demanglers that call back here own no memory. */
	if (out->text.nr_bytes + nr_bytes > MAX_DEMANGLED_BYTES)
		longjmp(out->too_long, 1);
	buf_append(&out->text, text, nr_bytes);
}

typedef int (*demangle_function)(const char *name, int options, demangle_callbackref take,
				 void *opaque);

/* The result of a demangler, or NULL if the name is not of its scheme or the result too long. */
static char *demangle_with(demangle_function demangle, const char *name)
{
	struct demangled *out = calloc(1, sizeof(*out));
	char *result;

	if (!out)
		return NULL;
	if (setjmp(out->too_long) == 0)
		out->is_whole = demangle(name, DMGL_PARAMS | DMGL_ANSI, take_text, out) != 0;
	result = out->is_whole ? xstrdup(buf_str(&out->text)) : NULL;
	buf_release(&out->text);
	free(out);
	return result;
}

/* "Q", then a distance in base 26; its last digit is a small letter. */
static bool has_few_back_references(const char *name)
{
	size_t nr = 0;

	for (const char *q = strchr(name, 'Q'); q; q = strchr(q + 1, 'Q')) {
		const char *digit = q + 1;

		while (*digit >= 'A' && *digit <= 'Z')
			digit++;
		nr += *digit >= 'a' && *digit <= 'z';
	}
	return nr <= MAX_D_BACK_REFERENCES;
}

static char *demangle_d(const char *name)
{
	if (strlen(name) > MAX_D_NAME_BYTES || !has_few_back_references(name))
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_DLANG);
}

/*
 * Each scheme by its own prefix and its own demangler: libiberty's automatic
 * style would take C++ names with 17-letter parts for Rust.
 */
static char *demangle_any(const char *name)
{
	char *result;

	if (starts_with(name, "_Z") || starts_with(name, "__Z") || starts_with(name, "___Z")) {
		name = strstr(name, "_Z");
		if (is_legacy_rust(name)) {
			result = demangle_with(rust_demangle_callback, name);
			if (result)
				return result;
		}
		return demangle_with(cplus_demangle_v3_callback, name);
	}
	if (starts_with(name, "_R"))
		return demangle_with(rust_demangle_callback, name);
	if (starts_with(name, "_D") && name[2] >= '0' && name[2] <= '9')
		return demangle_d(name);
	if (strcmp(name, "_Dmain") == 0)
		return xstrdup("D main");
	return NULL;
}

/*
 * GNAT makes all letters small and joins the parts by "__". Only such names go to its demangler,
 * which would accept any C name with "__".
 */
static bool is_ada(const char *name)
{
	return starts_with(name, "_ada_") ||
	       (strstr(name, "___") != NULL && name[0] != '_' && strstr(name, "___elab"));
}

/* Append the parts without GNAT's marks of origin: "TB", "TKB" (task body), "B_1__" (block). */
static void append_ada_parts(struct buf *out, const char *name)
{
	size_t nr = strlen(name);

	if (nr > 3 && strcmp(name + nr - 3, "TKB") == 0)
		nr -= 3;
	else if (nr > 2 && strcmp(name + nr - 2, "TB") == 0)
		nr -= 2;
	while (nr) {
		size_t digits = starts_with(name, "B_") ? strspn(name + 2, "0123456789") : 0;
		const char *next;

		if (digits && starts_with(name + 2 + digits, "__")) {
			name += 2 + digits + 2;
			nr -= 2 + digits + 2;
		}
		next = strstr(name, "__");
		if (!next || (size_t)(next + 2 - name) >= nr)
			break;
		buf_append(out, name, (size_t)(next + 2 - name));
		nr -= (size_t)(next + 2 - name);
		name = next + 2;
	}
	buf_append(out, name, nr);
}

char *symbol_demangle_ada(const char *name)
{
	struct buf plain = {.nr_bytes = 0};
	char *result = NULL;

	if (strlen(name) <= MAX_LINKAGE_NAME_BYTES) {
		append_ada_parts(&plain, name);
		result = ada_demangle(buf_str(&plain), DMGL_PARAMS | DMGL_ANSI);
		buf_release(&plain);
	}
	if (result && *result != '<') /* libiberty's mark of names that are not GNAT's */
		return result;
	free(result);
	return symbol_demangle(name);
}

/* All words in libiberty's texts for C++. */
static const char words_of_cxx[] =
	"Class JArray TLS TT VTT _Accum _BitInt _Complex _Float _Fract _GLOBAL_ _Imaginary _Sat "
	"__alignof__ __float128 __int128 __vector abi alias alignof allocator anonymous arg at "
	"auto "
	"basic_iostream basic_istream basic_ostream basic_string bfloat16_t bool boolean byte char "
	"char16_t char32_t char8_t char_traits class clone co_await const const_cast construction "
	"constructors covariant decimal128 decimal32 decimal64 decltype default delete destructors "
	"double dynamic_cast enum false float fn for friend function global guard half hidden in "
	"init "
	"initializer int iostream istream java keyed lambda list literal ll long module namespace "
	"new "
	"noexcept non nullptr nullptr_t object operator or ostream parm private reference "
	"reinterpret_cast requires resource restrict return short signed sizeof static static_cast "
	"std "
	"string struct template temporary this throw thunk to transaction transaction_clone "
	"transaction_safe true type typeid typeinfo typename ull unnamed unsigned using variable "
	"virtual void volatile vtable wchar_t wrapper";

bool symbol_demangle_has_word(const char *word)
{
	/* Digits are of a literal or a number, and may be followed by letters. */
	return strpbrk(word, "0123456789") || strstr(words_of_cxx, word);
}

bool symbol_demangle_makes_words(const char *linkage_name)
{
	return linkage_name[strspn(linkage_name, "_")] != 'Z'
		       ? starts_with(linkage_name, "_R") || starts_with(linkage_name, "_D") ||
				 is_ada(linkage_name)
		       : strchr(linkage_name, '$') != NULL; /* Rust's escapes */
}

char *symbol_demangle(const char *linkage_name)
{
	char *result = NULL;

	if (strlen(linkage_name) <= MAX_LINKAGE_NAME_BYTES) {
		result = demangle_any(linkage_name);
		if (!result && is_ada(linkage_name))
			result = ada_demangle(linkage_name, DMGL_PARAMS | DMGL_ANSI);
	}
	return result ? result : xstrdup(linkage_name);
}
