/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints for users on better symbols for a module. */
#ifndef PROFC_SYMBOL_HINT_H
#define PROFC_SYMBOL_HINT_H

#include "profile/symbol_source.h"

struct build_id;
struct symbol_object;
struct symbol_request;

/*
 * A message for the user: the reason why a module lacks symbols, and a remedy if there is a known
 * one. NULL if nothing is missing. Caller frees.
 */
char *hint_for_object(const struct symbol_object *object, enum symbol_source source);
char *hint_for_mismatch(const struct symbol_request *request, const struct build_id *found);

#endif
