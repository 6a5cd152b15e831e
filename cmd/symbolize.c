// SPDX-License-Identifier: GPL-2.0-or-later
/* profc symbolize: resolves the symbols of a profile, or of addresses. */
#include <stddef.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/keep_source.h"
#include "cmd/profile_options.h"
#include "cmd/resolve_progress.h"
#include "cmd/save_profile.h"
#include "cmd/symbol_options.h"
#include "cmd/symbolize_elf.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "symbol/addr2line_words.h"

struct symbolize_args {
	const char *input, *output;
	struct symbolize_elf_args elf;
	struct symbol_option_values symbols;
	bool with_source;
};

#define AT(member) offsetof(struct symbolize_args, member)

/* The two uses share a command, and differ in what -i means: as in addr2line, or as elsewhere. */
#define PROFILE_ROWS                                                                               \
	{.type = OPTION_SECTION, .name = "Recordings"},                                            \
		{.type = OPTION_FILE,                                                              \
		 .short_name = 'i',                                                                \
		 .name = "input",                                                                  \
		 .argument = "FILE",                                                               \
		 .offset = AT(input),                                                              \
		 .help = "read this profile (default: profc.data)"},                               \
		{.type = OPTION_FILE,                                                              \
		 .short_name = 'o',                                                                \
		 .name = "output",                                                                 \
		 .argument = "FILE",                                                               \
		 .offset = AT(output),                                                             \
		 .help = "write to FILE (default: the profile itself)"},                           \
	{                                                                                          \
		.type = OPTION_FLAG, .name = "with-source", .offset = AT(with_source),             \
		.help = "keep the source text and the instructions of what was sampled, too"       \
	}

#define ELF_ROWS                                                                                   \
	{.type = OPTION_SECTION, .name = "Addresses, as in addr2line"},                            \
		{.type = OPTION_FILE,                                                              \
		 .short_name = 'e',                                                                \
		 .name = "exe",                                                                    \
		 .argument = "ELF",                                                                \
		 .offset = AT(elf.exe),                                                            \
		 .help = "the program or library that contains the addresses"},                    \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 'a',                                                                \
		 .name = "addresses",                                                              \
		 .offset = AT(elf.format.addresses),                                               \
		 .help = "print the address before each result"},                                  \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 'f',                                                                \
		 .name = "functions",                                                              \
		 .offset = AT(elf.format.functions),                                               \
		 .help = "print the function, too"},                                               \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 'C',                                                                \
		 .name = "demangle",                                                               \
		 .offset = AT(elf.format.demangle),                                                \
		 .help = "demangle function names; --demangle=STYLE: for one language"},           \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 's',                                                                \
		 .name = "basenames",                                                              \
		 .offset = AT(elf.format.basenames),                                               \
		 .help = "print file names without directories"},                                  \
		{.type = OPTION_STRING,                                                            \
		 .short_name = 'j',                                                                \
		 .name = "section",                                                                \
		 .argument = "NAME",                                                               \
		 .offset = AT(elf.section),                                                        \
		 .help = "addresses are relative to this section"},                                \
		{.type = OPTION_STRING,                                                            \
		 .short_name = 'b',                                                                \
		 .name = "target",                                                                 \
		 .argument = "FORMAT",                                                             \
		 .offset = AT(elf.target),                                                         \
		 .help = "object file format; must be ELF"},                                       \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 'R',                                                                \
		 .name = "recurse-limit",                                                          \
		 .offset = AT(elf.recurse_limit),                                                  \
		 .help = "accepted for compatibility: demangling is always limited"},              \
		{.type = OPTION_FLAG,                                                              \
		 .short_name = 'r',                                                                \
		 .name = "no-recurse-limit",                                                       \
		 .offset = AT(elf.no_recurse_limit),                                               \
		 .help = "accepted for compatibility and ignored"},                                \
	{                                                                                          \
		.type = OPTION_FLAG, .short_name = 'p', .name = "pretty-print",                    \
		.offset = AT(elf.format.pretty), .help = "print one line per inlined function"     \
	}

/* Everything, for the help and for recordings. */
static const struct option_row rows[] = {
	PROFILE_ROWS,
	ELF_ROWS,
	{.type = OPTION_FLAG,
	 .name = "inlines",
	 .offset = AT(elf.format.inlines),
	 .help = "print the functions it is inlined into; -i with -e"},
	SYMBOL_OPTION_ROWS(struct symbolize_args, symbols),
	OPTIONS_END,
};

static const struct option_row elf_rows[] = {
	ELF_ROWS,
	{.type = OPTION_FLAG,
	 .short_name = 'i',
	 .name = "inlines",
	 .offset = AT(elf.format.inlines),
	 .help = "print the functions it is inlined into"},
	SYMBOL_OPTION_ROWS(struct symbolize_args, symbols),
	OPTIONS_END,
};

/* Is there an -e among the words, also at the end of letters as in -afie? */
static bool names_an_elf(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-')
			continue;
		if (argv[i][1] == '-') {
			if (strncmp(argv[i], "--exe", 5) == 0)
				return true;
		} else if (argv[i][1 + strspn(argv[i] + 1, "afiCsprR")] == 'e') {
			return true;
		}
	}
	return false;
}

/* A real name, not one made from the function's start: [module+0xoffset]. */
static bool has_name(const struct profile *profile, const struct frame_symbols *symbols)
{
	const struct location *outermost;

	if (!symbols->nr)
		return false;
	outermost = &profile->symbols.locations[symbols->first + symbols->nr - 1];
	return profile_str(profile, profile->symbols.functions[outermost->function.v].name)[0] !=
	       '[';
}

static size_t nr_named(const struct profile *profile)
{
	size_t nr = 0;

	for (size_t i = 0; i < profile->symbols.nr_frames; i++)
		nr += has_name(profile, &profile->symbols.frames[i]);
	return nr;
}

/* A file that is not the recorded one gives no symbols, which deserves a warning. */
static void warn_of_other_files(const struct profile *profile)
{
	for (size_t i = 0; i < profile->symbols.nr_modules; i++) {
		const struct module_symbols *row = &profile->symbols.modules[i];

		if (row->mismatched)
			print_warning(
				"%s: %s",
				module_table_get(profile->modules, (struct module_id){(uint32_t)i})
					->path,
				profile_str(profile, row->problem));
	}
}

static int symbolize_profile(const struct symbolize_args *args)
{
	const struct symbol_options options = symbol_options_of(&args->symbols, NULL);
	const char *input = args->input ? args->input : "profc.data";
	struct profile *profile;
	struct err err = ERR_INIT;
	int status = open_profile(input, &profile);

	if (status != EXIT_DONE)
		return status;
	resolve_with_progress(profile, &options, true);
	warn_of_other_files(profile);
	if (args->with_source)
		keep_source(profile, false);
	if (save_profile(profile, args->output ? args->output : input, &err) < 0) {
		print_err(&err);
		status = EXIT_CANNOT;
	} else {
		print_note("%zu of %zu addresses have symbols", nr_named(profile),
			   profile->nr_frames);
	}
	profile_free(profile);
	return status;
}

static int symbolize_addresses(const struct command *self, const struct addr2line_words *words)
{
	struct symbolize_args args = {.symbols = SYMBOL_OPTION_VALUES_INIT};
	struct symbol_options options;
	struct err err = ERR_INIT;
	int first_word, status;

	if (options_parse(elf_rows, &args, words->argc, words->argv, false, &first_word, &err)) {
		status = usage_error(self, &err);
	} else {
		args.elf.format.style = words->style;
		options = symbol_options_of(&args.symbols, NULL);
		options.verbatim = true;
		options.nr_threads = cpus_available();
		status = symbolize_elf(&args.elf, &options, words->argv + first_word,
				       words->argc - first_word);
	}
	options_release(elf_rows, &args);
	return status;
}

static int symbolize_recording(const struct command *self, int argc, char **argv)
{
	struct symbolize_args args = {.symbols = SYMBOL_OPTION_VALUES_INIT};
	struct err err = ERR_INIT;
	int first_word, status;

	if (options_parse(rows, &args, argc, argv, false, &first_word, &err) == 0)
		first_word += profile_options_take(&args.input, argc, argv, first_word);
	if (!err.code && first_word < argc) {
		err_set(&err, ERR_INVALID, "addresses need a file (-e)");
		err_hint(&err, "profc symbolize -e FILE %s", argv[first_word]);
	}
	status = err.code ? usage_error(self, &err) : symbolize_profile(&args);
	options_release(rows, &args);
	return status;
}

static int run_symbolize(const struct command *self, int argc, char **argv)
{
	struct addr2line_words words;
	struct err err = ERR_INIT;
	int status;

	if (addr2line_words_init(&words, argc, argv, &err))
		return usage_error(self, &err);
	if (names_an_elf(words.argc, words.argv))
		status = symbolize_addresses(self, &words);
	else
		status = symbolize_recording(self, argc, argv);
	addr2line_words_release(&words);
	return status;
}

const struct command command_symbolize = {
	.name = "symbolize",
	.synopsis = "[-i FILE] | -e ELF [-afiCsp] [-j NAME] [ADDRESS...]",
	.summary = "resolve the symbols of a profile, or of addresses",
	.help = "Resolves the symbols of a profile that was recorded with --no-symbols, or on\n"
		"another machine: every address gets its function, file, line and the functions\n"
		"it is inlined into, and the file is rewritten.\n"
		"\n"
		"With -e, translates addresses as addr2line does. Without arguments it reads\n"
		"addresses from standard input; @FILE is replaced by the arguments in FILE.\n"
		"\n"
		"Examples:\n"
		"  profc symbolize\n"
		"  profc symbolize -i profc.data --debug-dir ./debug --sysroot ./rootfs\n"
		"  profc symbolize -e ./program -afi -C 0x1139\n",
	.options = rows,
	.run = run_symbolize,
};
