// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of the page: of the functions with most self time, as far as there is room. */
#include "base/json.h"
#include "base/strtab.h"
#include "calltree/code.h"
#include "calltree/weights.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "view/disassembly.h"

#define FUNCTIONS_MAX	 40
#define LEAST_PERCENT	 0.5
#define INSTRUCTIONS_MAX 50000		     /* of all of them */
#define ADDRESS_MAX	 (UINT64_C(1) << 53) /* that scripts can hold */

void page_addresses_write(struct page_data *data)
{
	const struct extract *extract = data->extract;
	uint64_t before = 0;

	if (!extract->options->disassemble)
		return;
	page_columns_begin(&data->columns, "frameAddress");
	for (size_t i = 0; i < data->rows.nr_frames; i++) {
		const struct code_address *where =
			path_frame_address(extract->expansion, data->rows.frames[i].node);
		uint64_t address = where && where->address < ADDRESS_MAX ? where->address : 0;

		page_columns_add_signed(&data->columns, (int64_t)(address - before));
		before = address;
	}
}

/* The number of a file in the page, from its path as the recording has it; or -1. */
static int64_t file_number(struct page_data *data, const char *path)
{
	struct str_id id;

	if (!strtab_find(data->extract->profile->strings, path, &id))
		return -1;
	return numbering_of(&data->files, id.v);
}

/*
 * The lines that the instructions were written on: for each that is on another than the one before
 * its number, the file and the line.
 */
static void write_positions(struct page_data *data, struct json *json,
			    const struct disassembly *disassembly)
{
	uint64_t nr = 0;

	json_array_begin(json);
	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		if (line->kind == DISASSEMBLY_INSTRUCTION && line->address < ADDRESS_MAX)
			nr++;
		if (line->kind != DISASSEMBLY_POSITION)
			continue;
		json_u64(json, nr);
		json_i64(json, file_number(data, line->text));
		json_u64(json, line->line);
	}
	json_array_end(json);
}

/*
 * [function, [address, text of the instruction] of each, positions]; how many instructions that
 * were.
 */
static size_t write_instructions(struct page_data *data, struct json *json, const struct code *code,
				 const struct disassembly *disassembly)
{
	size_t nr = 0;

	json_array_begin(json);
	json_u64(json, numbering_of(&data->functions, code->label));
	json_array_begin(json);
	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		if (line->kind != DISASSEMBLY_INSTRUCTION || line->address >= ADDRESS_MAX)
			continue;
		json_array_begin(json);
		json_u64(json, line->address);
		json_str(json, line->text);
		json_array_end(json);
		nr++;
	}
	json_array_end(json);
	write_positions(data, json, disassembly);
	json_array_end(json);
	return nr;
}

static void write_codes(struct page_data *data, struct json *json, const struct codes *codes)
{
	size_t nr_instructions = 0;

	for (size_t i = 0; i < codes->nr && i < FUNCTIONS_MAX; i++) {
		const struct code *code = &codes->codes[i];
		struct disassembly disassembly = {0};

		if (tally_percent(&code->self, &codes->weights->total) < LEAST_PERCENT)
			break;
		if (data->extract->options->disassemble(codes, code, &disassembly) &&
		    nr_instructions + disassembly.nr <= INSTRUCTIONS_MAX)
			nr_instructions += write_instructions(data, json, code, &disassembly);
		disassembly_release(&disassembly);
	}
}

void page_code_write(struct page_data *data, struct json *json)
{
	struct weights *weights;
	struct codes *codes;

	if (!data->extract->options->disassemble)
		return;
	weights = weights_new(data->extract->selection, data->extract->options->metric);
	codes = codes_new(weights, NULL);
	json_key_array_begin(json, "code");
	write_codes(data, json, codes);
	json_array_end(json);
	codes_free(codes);
	weights_free(weights);
}
