// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list whose nodes are made one by one and then freed, and how long a node takes by the process'
 * own CPU clock: the median of some rounds. Little else is done with them, so this is the most that
 * recording each of them can cost.
 *
 *	list_of_nodes NODES ROUNDS
 */
#include "self_measure.h"

#define MAX_ROUNDS 100

struct node {
	struct node *next;
	uint64_t values[3];
};

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

NOINLINE static struct node *make(uint64_t nr)
{
	struct node *first = NULL;

	for (uint64_t i = 0; i < nr; i++) {
		struct node *node = malloc(sizeof(*node));

		if (!node)
			abort();
		node->next = first;
		node->values[0] = i;
		first = node;
	}
	return first;
}

NOINLINE static uint64_t free_all(struct node *first)
{
	uint64_t sum = 0;

	while (first) {
		struct node *next = first->next;

		sum += first->values[0];
		free(first);
		first = next;
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t nr = number_argument(argc, argv, 1, 300000);
	uint64_t nr_rounds = number_argument(argc, argv, 2, 20);
	uint64_t used_ns[MAX_ROUNDS], sum = 0;

	if (!nr || !nr_rounds || nr_rounds > MAX_ROUNDS)
		return 2;
	for (uint64_t i = 0; i < nr_rounds; i++) {
		uint64_t began_ns = process_cpu_ns();

		sum += free_all(make(nr));
		used_ns[i] = process_cpu_ns() - began_ns;
	}
	qsort(used_ns, nr_rounds, sizeof(used_ns[0]), compare);
	printf("{\"ns_per_node\":%.3f,\"sum\":%llu}\n", (double)used_ns[nr_rounds / 2] / (double)nr,
	       (unsigned long long)sum);
	return 0;
}
