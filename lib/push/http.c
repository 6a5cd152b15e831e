// SPDX-License-Identifier: GPL-2.0-or-later
/* The transport of libcurl, which is loaded on demand: most users push nothing. */
#include "push/http.h"

#include "base/err.h"

#ifdef PROFC_STATIC

#include <stddef.h>

int push_http_new(struct push_http **http, const struct push_http_options *options, struct err *err)
{
	(void)http, (void)options;
	err_set(err, ERR_UNSUPPORTED, "a static profc cannot push to a server: it has no libcurl");
	err_hint(err, "push to a directory, and send its files with curl; or use the package");
	return ERR_UNSUPPORTED;
}

void push_http_free(struct push_http *http)
{
	(void)http;
}

struct push_transport push_http_transport(struct push_http *http)
{
	(void)http;
	return (struct push_transport){NULL, NULL};
}

#else

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "push/header_file.h"
#include "push/request.h"

/* The interface of curl/curl.h. Its numbers never change (libcurl has an ABI policy). */
enum {
	CURL_OK = 0,
	CURLE_UNSUPPORTED_PROTOCOL = 1,
	CURLE_URL_MALFORMAT = 3,
	CURLE_NOT_BUILT_IN = 4,
	CURLE_PEER_FAILED_VERIFICATION = 60,
	CURLE_SSL_CACERT_BADFILE = 77,
	CURL_GLOBAL_DEFAULT = 3,
	CURLOPT_TIMEOUT_MS = 155,
	CURLOPT_CONNECTTIMEOUT_MS = 156,
	CURLOPT_LOW_SPEED_LIMIT = 19,
	CURLOPT_LOW_SPEED_TIME = 20,
	CURLOPT_NOPROGRESS = 43,
	CURLOPT_POST = 47,
	CURLOPT_NOSIGNAL = 99,
	CURLOPT_PROTOCOLS = 181, /* CURLPROTO_HTTP and _HTTPS are 1 and 2 */
	CURLOPT_WRITEDATA = 10001,
	CURLOPT_URL = 10002,
	CURLOPT_ERRORBUFFER = 10010,
	CURLOPT_POSTFIELDS = 10015,
	CURLOPT_USERAGENT = 10018,
	CURLOPT_HTTPHEADER = 10023,
	CURLOPT_XFERINFODATA = 10057,
	CURLOPT_CAINFO = 10065,
	CURLOPT_WRITEFUNCTION = 20011,
	CURLOPT_XFERINFOFUNCTION = 20219,
	CURLOPT_POSTFIELDSIZE_LARGE = 30120,
	CURLINFO_RESPONSE_CODE = 0x200002,
	CURLINFO_RETRY_AFTER = 0x600039,
	CURL_ERROR_SIZE = 256,
};

struct curl_slist;

struct library {
	int (*global_init)(long flags);
	void (*global_cleanup)(void);
	void *(*easy_init)(void);
	void (*easy_cleanup)(void *easy);
	void (*easy_reset)(void *easy);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_perform)(void *easy);
	int (*easy_getinfo)(void *easy, int info, ...);
	const char *(*easy_strerror)(int code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

struct push_http {
	struct push_http_options options;
	void *handle; /* of dlopen() */
	struct library curl;
	void *easy; /* keeps the connection from one request to the next */
};

/* POSIX lets the object pointer of dlsym() be a function's; ISO C has no cast that says so. */
static bool load(void *handle, const char *name, void *function, size_t nr_bytes)
{
	void *found = dlsym(handle, name);

	memcpy(function, &found, nr_bytes);
	return found != NULL;
}

#define LOAD(handle, library, member)                                                              \
	load(handle, "curl_" #member, &(library)->member, sizeof((library)->member))

static bool load_all(void *handle, struct library *curl)
{
	return LOAD(handle, curl, global_init) && LOAD(handle, curl, global_cleanup) &&
	       LOAD(handle, curl, easy_init) && LOAD(handle, curl, easy_cleanup) &&
	       LOAD(handle, curl, easy_reset) && LOAD(handle, curl, easy_setopt) &&
	       LOAD(handle, curl, easy_perform) && LOAD(handle, curl, easy_getinfo) &&
	       LOAD(handle, curl, easy_strerror) && LOAD(handle, curl, slist_append) &&
	       LOAD(handle, curl, slist_free_all);
}

/* Debian has one for each library of TLS, with the same interface. */
static void *open_library(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *handle = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

int push_http_new(struct push_http **http, const struct push_http_options *options, struct err *err)
{
	struct push_http made = {.options = *options, .handle = open_library()};

	if (!made.handle) {
		err_set(err, ERR_UNSUPPORTED, "pushing to a server needs libcurl.so.4");
		err_hint(err, "install it (Debian: libcurl4, Fedora and Alpine: libcurl, Arch: "
			      "curl), or push to a directory");
		return ERR_UNSUPPORTED;
	}
	if (!load_all(made.handle, &made.curl) ||
	    made.curl.global_init(CURL_GLOBAL_DEFAULT) != CURL_OK) {
		dlclose(made.handle);
		return err_set(err, ERR_UNSUPPORTED, "this libcurl is not usable");
	}
	made.easy = made.curl.easy_init();
	if (!made.easy) {
		made.curl.global_cleanup();
		dlclose(made.handle);
		return err_set(err, ERR_UNSUPPORTED, "this libcurl is not usable");
	}
	*http = xmemdup(&made, sizeof(made));
	return 0;
}

/*
 * Over TLS, libcurl before 7.86 or so writes to a connection that the receiver has closed in a way
 * that sends the thread SIGPIPE. CURLOPT_NOSIGNAL, without which threads get SIGALRM, has libcurl
 * leave that to us.
 */
struct pipe_guard {
	sigset_t pipe, former; /* the former mask of this thread */
	bool was_pending;
};

static bool is_pending(int signal)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

static void pipe_guard_begin(struct pipe_guard *guard)
{
	sigemptyset(&guard->pipe);
	sigaddset(&guard->pipe, SIGPIPE);
	guard->was_pending = is_pending(SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &guard->pipe, &guard->former);
}

static void pipe_guard_end(struct pipe_guard *guard)
{
	if (!guard->was_pending && is_pending(SIGPIPE))
		sigtimedwait(&guard->pipe, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &guard->former, NULL);
}

void push_http_free(struct push_http *http)
{
	struct pipe_guard guard;

	if (!http)
		return;
	pipe_guard_begin(&guard);
	http->curl.easy_cleanup(http->easy); /* which tells the receiver */
	pipe_guard_end(&guard);
	http->curl.global_cleanup();
	dlclose(http->handle);
	free(http);
}

/* Called while it waits; anything but 0 ends the transfer. */
static int check_end(void *context, int64_t down_whole, int64_t down, int64_t up_whole, int64_t up)
{
	const struct push_http *http = context;

	(void)down_whole, (void)down, (void)up_whole, (void)up;
	return http->options.ended && atomic_load(http->options.ended);
}

/* The beginning of the answer, which may say why. */
static size_t take_answer(const char *bytes, size_t size, size_t nr, void *context)
{
	struct push_answer *answer = context;
	size_t nr_there = strlen(answer->words), nr_bytes = size * nr;
	size_t nr_room = sizeof(answer->words) - 1 - nr_there;

	for (size_t i = 0; i < nr_bytes && i < nr_room; i++)
		answer->words[nr_there++] =
			(unsigned char)bytes[i] < ' ' ? ' ' : bytes[i]; /* one line */
	answer->words[nr_there] = '\0';
	return nr_bytes;
}

static void deny(struct push_answer *answer, const char *words)
{
	answer->outcome = PUSH_DENIED;
	snprintf(answer->words, sizeof(answer->words), "%s", words);
}

static struct curl_slist *add_line(const struct library *curl, struct curl_slist *list,
				   const char *line, bool *complete)
{
	struct curl_slist *longer = curl->slist_append(list, line);

	*complete = *complete && longer;
	return longer ? longer : list;
}

/* NULL: out of memory. */
static struct curl_slist *make_list(const struct library *curl, const struct push_request *request,
				    const struct push_headers *headers)
{
	cleanup_free char *type = xasprintf("Content-Type: %s", request->content_type);
	bool complete = true;
	/* Without "Expect": some proxies never answer it. */
	struct curl_slist *list = add_line(curl, NULL, "Expect:", &complete);

	list = add_line(curl, list, type, &complete);
	for (size_t i = 0; i < headers->nr; i++)
		list = add_line(curl, list, headers->lines[i], &complete);
	if (complete)
		return list;
	curl->slist_free_all(list);
	return NULL;
}

static bool set_options(const struct push_http *http, const struct push_request *request,
			const char *url, struct curl_slist *list, char *error,
			struct push_answer *answer)
{
	const struct push_http_options *options = &http->options;
	const struct library *curl = &http->curl;
	void *easy = http->easy;
	long whole_ms = options->whole_ns ? (long)(options->whole_ns / NS_PER_MS) : 120000;

	curl->easy_reset(easy);
	if (options->ca_path &&
	    curl->easy_setopt(easy, CURLOPT_CAINFO, options->ca_path) != CURL_OK)
		return false;
	return curl->easy_setopt(easy, CURLOPT_URL, url) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_PROTOCOLS, 3L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_USERAGENT, options->agent) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, whole_ms) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, 30L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_HTTPHEADER, list) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_POST, 1L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.bytes) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (int64_t)request->body.nr_bytes) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_WRITEDATA, answer) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_end) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_XFERINFODATA, http) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURL_OK &&
	       curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, error) == CURL_OK;
}

static enum push_outcome outcome_of_code(int code)
{
	switch (code) {
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_NOT_BUILT_IN:
	case CURLE_PEER_FAILED_VERIFICATION: /* its certificate */
	case CURLE_SSL_CACERT_BADFILE:
		return PUSH_DENIED;
	default:
		return PUSH_FAILED;
	}
}

static void judge(const struct push_http *http, int code, const char *error,
		  struct push_answer *answer)
{
	char words[sizeof(answer->words)];
	int64_t wait_s = 0;
	long status = 0;

	if (code != CURL_OK) {
		answer->outcome = outcome_of_code(code);
		snprintf(answer->words, sizeof(answer->words), "%s",
			 *error ? error : http->curl.easy_strerror(code));
		return;
	}
	http->curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	/* Unknown to libcurl before 7.66, and 0 there. */
	http->curl.easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &wait_s);
	answer->outcome = push_outcome_of_status(status);
	if (wait_s > 0)
		answer->wait_ns = (wait_s < 3600 ? (uint64_t)wait_s : 3600) * NS_PER_SEC;
	memcpy(words, answer->words, sizeof(words));
	if (answer->outcome == PUSH_DELIVERED)
		answer->words[0] = '\0';
	else
		snprintf(answer->words, sizeof(answer->words), "it answered %ld%s%.200s", status,
			 *words ? ": " : "", words);
}

static void perform(const struct push_http *http, const struct push_request *request,
		    const struct push_headers *headers, struct push_answer *answer)
{
	cleanup_free char *url = xasprintf("%s%s", http->options.url, request->target);
	struct curl_slist *list = make_list(&http->curl, request, headers);
	char error[CURL_ERROR_SIZE] = "";
	struct pipe_guard guard;

	pipe_guard_begin(&guard);
	if (!list || !set_options(http, request, url, list, error, answer))
		deny(answer, "this libcurl lacks what profc needs");
	else
		judge(http, http->curl.easy_perform(http->easy), error, answer);
	pipe_guard_end(&guard);
	http->curl.easy_reset(http->easy); /* which forgets what is freed here */
	http->curl.slist_free_all(list);
}

static void send_request(void *context, const struct push_request *request,
			 struct push_answer *answer)
{
	const struct push_http *http = context;
	struct push_headers headers = {.lines = NULL};
	struct err err = ERR_INIT;

	*answer = (struct push_answer){.outcome = PUSH_DENIED};
	if (http->options.header_path &&
	    push_headers_read(&headers, http->options.header_path, &err))
		deny(answer, err.what);
	else
		perform(http, request, &headers, answer);
	push_headers_release(&headers);
}

struct push_transport push_http_transport(struct push_http *http)
{
	return (struct push_transport){send_request, http};
}

#endif
