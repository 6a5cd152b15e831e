/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where profiles are pushed to. */
#ifndef PROFC_PUSH_RECEIVER_H
#define PROFC_PUSH_RECEIVER_H

struct err;

enum push_kind {
	PUSH_PYROSCOPE, /* its /ingest */
	PUSH_PARCA,	/* the JSON gateway of its write API */
	PUSH_DIRECTORY, /* a file for each profile */
};

struct push_receiver {
	enum push_kind kind;
	char *where; /* the URL without the kind and without a final slash, or the path; owned */
};

/*
 * Read pyroscope+http://HOST[:PORT][/PREFIX], parca+http://..., both with https too, or the path of
 * a directory, which is neither looked for nor made. ERR_INVALID, with a hint: a URL of another
 * form, or one with a user or password, which other users of the machine could read. The message
 * never repeats such a URL. Released with push_receiver_release().
 */
int push_receiver_parse(struct push_receiver *receiver, const char *text, struct err *err);
void push_receiver_release(struct push_receiver *receiver);

#endif
