// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/senders.h"

#include "base/clock.h"

#define KNOWN_FOR_NS NS_PER_SEC

void senders_note(struct senders *senders, const struct sender *sender)
{
	senders->at[senders->next++ % SENDERS_MAX] = *sender;
}

/* Not of one that stops. */
static bool is_of_an_end(const siginfo_t *info)
{
	return info->si_signo == SIGCHLD && info->si_code > 0 && info->si_code <= CLD_DUMPED;
}

const struct sender *senders_find(const struct senders *senders, pid_t tgid, const siginfo_t *info,
				  uint64_t now_ns)
{
	if (!is_of_an_end(info))
		return NULL;
	for (size_t i = 1; i <= SENDERS_MAX; i++) {
		const struct sender *sender = &senders->at[(senders->next - i) % SENDERS_MAX];

		if (sender->parent_tgid == tgid && sender->pid == info->si_pid)
			return now_ns - sender->reaped_ns < KNOWN_FOR_NS ? sender : NULL;
	}
	return NULL;
}
