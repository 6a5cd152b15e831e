/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs in $PATH. */
#ifndef PROFC_CMD_SEARCH_PATH_H
#define PROFC_CMD_SEARCH_PATH_H

#include <stdbool.h>

struct err;

/* The directories of $PATH, as search_path_find() takes them. */
const char *search_directories(void);
/* Is there a program of this name in $PATH? */
bool in_search_path(const char *program);

/* Does it run with the rights of its file's owner or group (set-user-ID)? */
bool program_has_own_rights(const char *program);

/* exec_failure_explain(), exec_failure_foresee() and exec_refuse_32_bit() with $PATH. */
int program_explain_failure(const char *program, int reason, struct err *err);
int program_foresee_failure(const char *program);
int program_refuse_32_bit(const char *program, struct err *err);

#endif
