/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_THREAD_CONTEXT_H
#define PROFC_TESTS_THREAD_CONTEXT_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/*
 * A writer of contexts by the text of the OTEPs 4719 (process) and 4947 (thread), without any
 * library. The variable is in the program or in a library, whichever defines it.
 */

struct context_record {
	uint8_t trace_id[16], span_id[8], valid, trace_flags;
	uint16_t nr_attribute_bytes;
	uint8_t attributes[612];
} __attribute__((packed, aligned(2)));

/* Before the compiler, not the processor: readers see the thread stopped. */
#define CONTEXT_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static inline void context_begin(struct context_record *record)
{
	*(volatile uint8_t *)&record->valid = 0;
	CONTEXT_FENCE();
	record->nr_attribute_bytes = 0;
}

static inline void context_add(struct context_record *record, uint8_t key, const char *value)
{
	uint8_t *at = record->attributes + record->nr_attribute_bytes;

	at[0] = key;
	at[1] = (uint8_t)strlen(value);
	memcpy(at + 2, value, at[1]);
	CONTEXT_FENCE();
	record->nr_attribute_bytes = (uint16_t)(record->nr_attribute_bytes + 2 + at[1]);
}

static inline void context_end(struct context_record *record)
{
	CONTEXT_FENCE();
	*(volatile uint8_t *)&record->valid = 1;
}

/* --- the process --- */

static inline uint8_t *put_bytes(uint8_t *at, uint8_t tag, const void *bytes, size_t length)
{
	*at++ = tag;
	*at++ = (uint8_t)(length & 127) | 128; /* as two bytes, however short */
	*at++ = (uint8_t)(length >> 7);
	memcpy(at, bytes, length);
	return at + length;
}

/* KeyValue { key = 1, value = 2 }, as an attribute (2) of ProcessContext. */
static inline uint8_t *put_attribute(uint8_t *at, const char *key, const uint8_t *value,
				     size_t length)
{
	uint8_t pair[2048], *end = put_bytes(pair, 0x0a, key, strlen(key));

	end = put_bytes(end, 0x12, value, length);
	return put_bytes(at, 0x12, pair, (size_t)(end - pair));
}

struct context_header {
	char signature[8];
	uint32_t version, nr_payload_bytes;
	uint64_t published_ns, payload;
};

/* Publish, or publish anew, the names of keys; of a process once. */
static inline void context_publish(const char *const *keys, size_t nr)
{
	static struct context_header *header;
	static uint8_t payloads[2][4096];
	static unsigned int turn;
	uint8_t value[1024], array[1024], *end, *payload = payloads[turn++ % 2], *at = payload;
	struct timespec now;

	/* AnyValue { string_value = 1 } */
	end = put_bytes(value, 0x0a, "tlsdesc_v1_dev", strlen("tlsdesc_v1_dev"));
	at = put_attribute(at, "threadlocal.schema_version", value, (size_t)(end - value));
	/* AnyValue { array_value = 5 { values = 1 } } */
	end = array;
	for (size_t i = 0; i < nr; i++) {
		uint8_t *end_of_key = put_bytes(value, 0x0a, keys[i], strlen(keys[i]));

		end = put_bytes(end, 0x0a, value, (size_t)(end_of_key - value));
	}
	end = put_bytes(value, 0x2a, array, (size_t)(end - array));
	at = put_attribute(at, "threadlocal.attribute_key_map", value, (size_t)(end - value));
	if (!header) {
		int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		if (fd < 0 || ftruncate(fd, 4096))
			_exit(2);
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		close(fd);
		if (header == MAP_FAILED)
			_exit(2);
		madvise(header, 4096, MADV_DONTFORK);
	}
	__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	header->nr_payload_bytes = (uint32_t)(at - payload);
	header->payload = (uint64_t)(uintptr_t)payload;
	clock_gettime(CLOCK_BOOTTIME, &now);
	__atomic_store_n(&header->published_ns,
			 (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec,
			 __ATOMIC_SEQ_CST);
	prctl(0x53564d41 /* PR_SET_VMA */, 0, header, 4096, "OTEL_CTX");
}

#endif
