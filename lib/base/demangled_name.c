// SPDX-License-Identifier: GPL-2.0-or-later
/* Shortens demangled names for tables. */
#include "base/demangled_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Functions that return pointers to functions nest; in practice hardly twice. */
#define MAX_DECLARATOR_DEPTH 16

struct shortener {
	const char *start; /* of the whole name */
	const char *at;
	struct buf out;
	size_t word;	     /* where in `out` the word after the last space begins */
	const char *word_at; /* the same in the whole name; NULL: there is no space */
	unsigned int depth;
	bool done;
	bool failed; /* brackets do not match: not a name of a language we know */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static char last_written(const struct shortener *s)
{
	return s->out.nr_bytes ? (char)s->out.bytes[s->out.nr_bytes - 1] : '\0';
}

/*
 * The character after the bracket that closes the one at `open`, or NULL. Angle brackets inside ( {
 * [ are ignored: they may be comparisons or arrows.
 */
static const char *group_end(const char *open)
{
	char closers[64];
	size_t depth = 0;

	for (const char *p = open; *p; p++) {
		bool in_angle = depth && closers[depth - 1] == '>';
		char closer = *p == '('						     ? ')'
			      : *p == '{'					     ? '}'
			      : *p == '['					     ? ']'
			      : *p == '<' && (depth == 0 || in_angle) && p[1] != '=' ? '>'
										     : '\0';

		if (closer) {
			if (depth == sizeof(closers))
				return NULL;
			closers[depth++] = closer;
		} else if (depth && *p == closers[depth - 1] &&
			   !(*p == '>' && p > open && p[-1] == '-')) {
			if (--depth == 0)
				return p + 1;
		}
	}
	return NULL;
}

static void copy_until(struct shortener *s, const char *end)
{
	buf_append(&s->out, s->at, (size_t)(end - s->at));
	s->at = end;
}

static void copy_group(struct shortener *s)
{
	const char *end = group_end(s->at);

	if (!end)
		s->failed = true;
	else
		copy_until(s, end);
}

static void skip_group(struct shortener *s)
{
	const char *end = group_end(s->at);

	if (!end)
		s->failed = true;
	else
		s->at = end;
}

/* Rust's `<Vec<T> as Deref>` and `<impl Display for Vec<T>>` stay, without their arguments. */
static void copy_angle_without_arguments(struct shortener *s)
{
	const char *end = group_end(s->at);

	if (!end) {
		s->failed = true;
		return;
	}
	copy_until(s, s->at + 1);
	while (s->at < end && !s->failed) {
		if (*s->at == '<' && is_name_char(last_written(s)))
			skip_group(s);
		else
			copy_until(s, s->at + 1);
	}
}

/* `name::<T>` of Rust v0, against `<T>::name` and `name::<impl …>::name`. */
static bool is_turbofish(const struct shortener *s)
{
	const char *end = group_end(s->at);

	if (!end || s->at - s->start < 3 || s->at[-1] != ':' || starts_with(s->at, "<impl "))
		return false;
	return *end == '\0' || starts_with(end, "::") || *end == '(';
}

static void take_angle(struct shortener *s)
{
	char before = last_written(s);

	if (is_name_char(before) || before == ']' || before == '}') {
		skip_group(s);
	} else if (is_turbofish(s)) {
		skip_group(s);
		if (s->out.nr_bytes >= 2)
			s->out.nr_bytes -= 2; /* its "::" */
	} else {
		copy_angle_without_arguments(s);
	}
}

static bool at_operator(const struct shortener *s)
{
	const char *end = s->at + strlen("operator");

	return starts_with(s->at, "operator") && !is_name_char(last_written(s)) &&
	       (*end == ' ' || *end == '"' ||
		(ispunct((unsigned char)*end) && *end != '_' && *end != '$' && *end != '.' &&
		 *end != ':'));
}

static void take_operator(struct shortener *s)
{
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=",    ">>=",  "->*",	  "->",	     "<<", ">>",
		"<=", ">=", "==",  "!=",     "&&",   "||",	  "++",	     "--", "+=",
		"-=", "*=", "/=",  "%=",     "&=",   "|=",	  "^=",	     "<",  ">",
		"+",  "-",  "*",   "/",	     "%",    "^",	  "&",	     "|",  "~",
		"!",  "=",  ",",   " new[]", " new", " delete[]", " delete",
	};

	copy_until(s, s->at + strlen("operator"));
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (starts_with(s->at, symbols[i])) {
			copy_until(s, s->at + strlen(symbols[i]));
			if (starts_with(s->at, " <"))
				s->at++;
			if (*s->at == '<')
				skip_group(s);
			return;
		}
	}
	/* A conversion to a type, or a literal: all of it up to the parameters. */
	while (*s->at && *s->at != '(' && !s->failed) {
		if (*s->at == '<')
			skip_group(s);
		else
			copy_until(s, s->at + 1);
	}
}

/* Qualifiers between a parameter list and the end of a name, or a "::" after it. */
static const char *skip_qualifiers(const char *p)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept",
						 "&&", "&",
						 /* of D */
						 " immutable", " inout", " shared"};
	bool found;

	do {
		found = false;
		for (size_t i = 0; i < ARRAY_SIZE(qualifiers) && !found; i++) {
			if (starts_with(p, qualifiers[i])) {
				p += strlen(qualifiers[i]);
				found = true;
			}
		}
	} while (found);
	return p;
}

/* `void (*name(int))(char)`: the name is inside. */
static bool at_declarator(const struct shortener *s)
{
	const char *p = s->at + 1;

	return last_written(s) == ' ' && (*p == '*' || *p == '&') &&
	       s->depth < MAX_DECLARATOR_DEPTH;
}

static char *shorten(const char *name, unsigned int depth);

static void take_declarator(struct shortener *s)
{
	const char *end = group_end(s->at);
	const char *inner = s->at + 1 + strspn(s->at + 1, "*&");
	cleanup_free char *text = NULL;
	cleanup_free char *shortened = NULL;

	if (!end || end - 1 <= inner) {
		s->failed = true;
		return;
	}
	text = xstrndup(inner, (size_t)(end - 1 - inner));
	shortened = shorten(text, s->depth + 1);
	buf_clear(&s->out);
	s->word = 0;
	buf_append_str(&s->out, shortened);
	s->done = true;
}

static void take_parameters(struct shortener *s)
{
	const char *end = group_end(s->at), *after;

	if (!end) {
		s->failed = true;
		return;
	}
	after = skip_qualifiers(end);
	if (*after == '\0' || starts_with(after, " [")) {
		s->at = after;
		s->done = true; /* the rest is a clone's suffix */
	} else if (starts_with(after, "::") || *after == '.') {
		s->at = after; /* the name of something local to a function */
	} else {
		s->at = end; /* decltype (…) and the like: part of the return type */
	}
}

static void take_paren(struct shortener *s)
{
	const char *end = group_end(s->at);

	if (starts_with(s->at, "(anonymous namespace)") || starts_with(s->at, "(anonymous class)"))
		copy_group(s);
	else if (last_written(s) == '.' && end && *end == '.')
		copy_group(s); /* Go: main.(*T).Method */
	else if (at_declarator(s))
		take_declarator(s);
	else
		take_parameters(s);
}

static void take_one(struct shortener *s)
{
	switch (*s->at) {
	case '<':
		take_angle(s);
		break;
	case '(':
		take_paren(s);
		break;
	case '{':
	case '[':
		copy_group(s);
		break;
	case '!': /* D: map!(…), map!int */
		if (s->at[1] == '(') {
			s->at++;
			skip_group(s);
		} else {
			copy_until(s, s->at + 1);
		}
		break;
	case ' ':
		copy_until(s, s->at + 1);
		s->word = s->out.nr_bytes;
		s->word_at = s->at;
		break;
	default:
		if (at_operator(s))
			take_operator(s);
		else
			copy_until(s, s->at + 1);
	}
}

/* The length of `name` without Rust's "::h" and 16 hexadecimal digits. */
static size_t length_without_hash(const char *name)
{
	size_t length = strlen(name);

	if (length > 19 && starts_with(name + length - 19, "::h") &&
	    strspn(name + length - 16, "0123456789abcdef") == 16)
		return length - 19;
	return length;
}

/* Prefixes that describe a special symbol; they are not return types. */
static size_t description_length(const char *name)
{
	static const char *const descriptions[] = {
		"non-virtual thunk to ",
		"virtual thunk to ",
		"covariant return thunk to ",
		"guard variable for ",
		"TLS init function for ",
		"TLS wrapper function for ",
		"transaction clone for ",
		"vtable for ",
		"typeinfo for ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
		if (starts_with(name, descriptions[i]))
			return strlen(descriptions[i]);
	}
	return 0;
}

static void take_all(struct shortener *s)
{
	while (*s->at && !s->done && !s->failed)
		take_one(s);
}

static char *shorten(const char *name, unsigned int depth)
{
	struct shortener s = {.start = name, .at = name, .depth = depth};
	char *result;

	take_all(&s);
	/* Without parameters there is no return type, and spaces mean something else. */
	if (!s.done)
		s.word = 0;
	if (starts_with(s.at, " ["))
		buf_append_str(&s.out, s.at);
	if (s.failed || s.out.nr_bytes <= s.word)
		result = xstrdup(name);
	else
		result = xstrdup(buf_str(&s.out) + s.word);
	buf_release(&s.out);
	return result;
}

char *demangled_name_shorten(const char *name)
{
	size_t description = description_length(name);
	cleanup_free char *whole = xstrndup(name, length_without_hash(name));
	cleanup_free char *shortened = shorten(whole + description, 0);

	return xasprintf("%.*s%s", (int)description, name, shortened);
}

const char *demangled_name_without_result(const char *name)
{
	struct shortener s = {.start = name, .at = name, .depth = MAX_DECLARATOR_DEPTH};

	if (description_length(name))
		return name;
	take_all(&s);
	buf_release(&s.out);
	return s.done && !s.failed && s.word_at ? s.word_at : name;
}

bool demangled_name_is_meant(const char *name,
			     bool (*is_meant)(const void *context, const char *form),
			     const void *context)
{
	cleanup_free char *shortened = NULL;

	if (is_meant(context, name) || is_meant(context, demangled_name_without_result(name)))
		return true;
	shortened = demangled_name_shorten(name);
	return is_meant(context, shortened);
}
