// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of sockets from the texts of /proc/PID/net. */
#include "proc/sockets.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/scan.h"
#include "proc/read.h"

/* Further sockets of a host are not read. */
#define SOCKETS_MAX ((size_t)1 << 17)

void proc_sockets_release(struct proc_sockets *sockets)
{
	for (size_t i = 0; i < sockets->nr; i++)
		free(sockets->rows[i].text);
	free(sockets->rows);
	index_set_release(&sockets->set);
	*sockets = (struct proc_sockets){0};
}

static bool same_inode(const void *owner, uint32_t index, const void *key)
{
	const struct proc_sockets *sockets = owner;

	return sockets->rows[index].inode == *(const uint64_t *)key;
}

static uint32_t find(const struct proc_sockets *sockets, uint64_t inode)
{
	return index_set_find(&sockets->set, hash_u64(inode), same_inode, sockets, &inode);
}

static void add(struct proc_sockets *sockets, uint64_t inode, struct buf *text)
{
	uint32_t found = find(sockets, inode);

	if (found != INDEX_NONE) {
		free(sockets->rows[found].text);
		sockets->rows[found].text = xstrndup(buf_str(text), text->nr_bytes);
		return;
	}
	if (sockets->nr >= SOCKETS_MAX)
		return;
	ARRAY_GROW(sockets->rows, sockets->nr, sockets->cap);
	index_set_add(&sockets->set, hash_u64(inode), (uint32_t)sockets->nr);
	sockets->rows[sockets->nr++] = (struct proc_socket){
		.inode = inode, .text = xstrndup(buf_str(text), text->nr_bytes)};
}

/* The text up to the next blank. */
static bool next_field(struct scan *line, struct scan *field)
{
	scan_blanks(line);
	field->at = line->at;
	while (line->at < line->end && *line->at != ' ' && *line->at != '\t')
		line->at++;
	field->end = line->at;
	return field->at < field->end;
}

static bool skip_fields(struct scan *line, unsigned int nr)
{
	struct scan field;

	while (nr-- > 0) {
		if (!next_field(line, &field))
			return false;
	}
	return true;
}

/* --- of the internet --- */

#define WORD_DIGITS   8
#define STATE_LISTENS 0x0a

struct address {
	uint32_t words[4]; /* as they are in memory, and in network order */
	size_t nr_words;
	uint64_t port;
	bool is_any;
};

/* "0100007F:1F90": words in this machine's byte order, from bytes in network order. */
static bool scan_address(struct scan *line, struct address *address)
{
	struct scan field;

	*address = (struct address){.is_any = true};
	if (!next_field(line, &field))
		return false;
	while (field.end - field.at > WORD_DIGITS && address->nr_words < 4) {
		struct scan word = {.at = field.at, .end = field.at + WORD_DIGITS};
		uint64_t value;

		if (!scan_hex(&word, &value) || word.at != word.end)
			return false;
		address->words[address->nr_words++] = (uint32_t)value;
		address->is_any &= value == 0;
		field.at += WORD_DIGITS;
	}
	return (address->nr_words == 1 || address->nr_words == 4) && scan_char(&field, ':') &&
	       scan_hex(&field, &address->port);
}

static void append_address(struct buf *out, const struct address *address)
{
	const struct in6_addr *ipv6 = (const struct in6_addr *)(const void *)address->words;
	char text[INET6_ADDRSTRLEN] = "";

	if (address->nr_words == 1)
		inet_ntop(AF_INET, address->words, text, sizeof(text));
	else if (IN6_IS_ADDR_V4MAPPED(ipv6))
		inet_ntop(AF_INET, &address->words[3], text, sizeof(text));
	else
		inet_ntop(AF_INET6, address->words, text, sizeof(text));
	buf_printf(out, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, (unsigned int)address->port);
}

/* sl, local, remote, state, queues, timer, retransmits, uid, timeout, inode */
static void add_inet_line(struct proc_sockets *sockets, struct scan line, struct buf *text)
{
	struct address local, peer;
	uint64_t state, inode;

	if (!skip_fields(&line, 1) || !scan_address(&line, &local) || !scan_address(&line, &peer))
		return;
	scan_blanks(&line);
	if (!scan_hex(&line, &state) || !skip_fields(&line, 5))
		return;
	scan_blanks(&line);
	if (!scan_decimal(&line, &inode) || !inode)
		return;
	buf_clear(text);
	if (!peer.is_any || peer.port) {
		append_address(text, &peer);
	} else {
		buf_append_str(text, state == STATE_LISTENS ? "listening on " : "at ");
		append_address(text, &local);
	}
	add(sockets, inode, text);
}

void proc_sockets_add_inet(struct proc_sockets *sockets, const char *text, size_t nr_bytes)
{
	struct scan rest = {.at = text, .end = text + nr_bytes}, line;
	struct buf scratch = {0};

	while (scan_line(&rest, &line))
		add_inet_line(sockets, line, &scratch);
	buf_release(&scratch);
}

/* --- of this machine --- */

#define FLAG_LISTENS UINT64_C(0x10000)

/* Num, RefCount, Protocol, Flags, Type, St, Inode, and of some a path */
static void add_unix_line(struct proc_sockets *sockets, struct scan line, struct buf *text)
{
	uint64_t flags, inode;

	if (!skip_fields(&line, 3))
		return;
	scan_blanks(&line);
	if (!scan_hex(&line, &flags) || !skip_fields(&line, 2))
		return;
	scan_blanks(&line);
	if (!scan_decimal(&line, &inode) || !scan_char(&line, ' ') || line.at >= line.end)
		return;
	buf_clear(text);
	buf_append_str(text, flags & FLAG_LISTENS ? "listening on " : "at ");
	buf_append(text, line.at, (size_t)(line.end - line.at));
	add(sockets, inode, text);
}

void proc_sockets_add_unix(struct proc_sockets *sockets, const char *text, size_t nr_bytes)
{
	struct scan rest = {.at = text, .end = text + nr_bytes}, line;
	struct buf scratch = {0};

	while (scan_line(&rest, &line))
		add_unix_line(sockets, line, &scratch);
	buf_release(&scratch);
}

void proc_sockets_read(struct proc_sockets *sockets, pid_t pid)
{
	static const char *const inet[] = {"net/tcp", "net/tcp6", "net/udp", "net/udp6"};
	struct buf text = {0};

	proc_sockets_release(sockets);
	for (size_t i = 0; i < ARRAY_SIZE(inet); i++) {
		buf_clear(&text);
		if (proc_read_process_file(pid, inet[i], &text))
			proc_sockets_add_inet(sockets, buf_str(&text), text.nr_bytes);
	}
	buf_clear(&text);
	if (proc_read_process_file(pid, "net/unix", &text))
		proc_sockets_add_unix(sockets, buf_str(&text), text.nr_bytes);
	buf_release(&text);
}

const char *proc_sockets_find(const struct proc_sockets *sockets, uint64_t inode)
{
	uint32_t found = find(sockets, inode);

	return found == INDEX_NONE ? NULL : sockets->rows[found].text;
}
