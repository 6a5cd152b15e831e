/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One module of a large C program: tables, lists and parsers over types of its own,
 * with small functions that are inlined into one another. Included again and again,
 * with N defined to another number each time: no guard.
 */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define OF(name)     PASTE(name, N)

struct OF(node) {
	struct OF(node) * next;
	unsigned long key;
	char text[16 + N % 7];
};

struct OF(table) {
	struct OF(node) * slots[64];
	size_t nr;
	int (*compare)(const struct OF(node) *, const struct OF(node) *);
};

static inline unsigned long OF(hash)(unsigned long key)
{
	key ^= key >> (7 + N % 5);
	key *= 0x9e3779b97f4a7c15ul + N;
	return key ^ (key >> 32);
}

static inline struct OF(node) * *OF(slot)(struct OF(table) * table, unsigned long key)
{
	return &table->slots[OF(hash)(key) % 64];
}

static inline struct OF(node) * OF(find)(struct OF(table) * table, unsigned long key)
{
	for (struct OF(node) *node = *OF(slot)(table, key); node; node = node->next) {
		if (node->key == key)
			return node;
	}
	return NULL;
}

static inline void OF(describe)(struct OF(node) * node)
{
	snprintf(node->text, sizeof(node->text), "%lx", node->key % (N + 100));
	for (char *at = node->text; *at; at++)
		*at = (char)toupper((unsigned char)*at);
}

static inline struct OF(node) * OF(add)(struct OF(table) * table, unsigned long key)
{
	struct OF(node) *node = OF(find)(table, key), **slot = OF(slot)(table, key);

	if (node)
		return node;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->key = key;
	node->next = *slot;
	*slot = node;
	table->nr++;
	OF(describe)(node);
	return node;
}

static int OF(by_text)(const struct OF(node) * left, const struct OF(node) * right)
{
	int order = strcmp(left->text, right->text);

	return order ? order : (left->key > right->key) - (left->key < right->key);
}

static inline void OF(sort_slot)(struct OF(table) * table, struct OF(node) * *slot)
{
	struct OF(node) *sorted = NULL, *node = *slot;

	while (node) {
		struct OF(node) *next = node->next, **at = &sorted;

		while (*at && table->compare(*at, node) < 0)
			at = &(*at)->next;
		node->next = *at;
		*at = node;
		node = next;
	}
	*slot = sorted;
}

void OF(table_sort)(struct OF(table) * table)
{
	table->compare = OF(by_text);
	for (size_t i = 0; i < 64; i++)
		OF(sort_slot)(table, &table->slots[i]);
}

size_t OF(table_parse)(struct OF(table) * table, const char *text)
{
	size_t before = table->nr;

	while (*text) {
		char *end;
		unsigned long key = strtoul(text, &end, 10 + N % 7);

		if (end == text) {
			text++;
			continue;
		}
		OF(add)(table, key);
		text = end;
	}
	return table->nr - before;
}

void OF(table_release)(struct OF(table) * table)
{
	for (size_t i = 0; i < 64; i++) {
		while (table->slots[i]) {
			struct OF(node) *node = table->slots[i];

			table->slots[i] = node->next;
			free(node);
		}
	}
	memset(table, 0, sizeof(*table));
}

int OF(module_run)(int rounds)
{
	struct OF(table) table = {.nr = 0};
	int sum = 0;

	for (int i = 0; i < rounds; i++)
		OF(add)(&table, OF(hash)((unsigned long)i));
	sum += (int)OF(table_parse)(&table, "1 2 30 44 555");
	OF(table_sort)(&table);
	for (int i = 0; i < rounds; i++)
		sum += OF(find)(&table, (unsigned long)i) != NULL;
	OF(table_release)(&table);
	return sum;
}

#undef OF
#undef PASTE
#undef PASTE_
