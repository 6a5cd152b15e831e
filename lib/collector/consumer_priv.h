/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a consumer, and the steps of its files, from the lowest up. */
#ifndef PROFC_COLLECTOR_CONSUMER_PRIV_H
#define PROFC_COLLECTOR_CONSUMER_PRIV_H

#include "base/key_map.h"
#include "base/owner.h"
#include "base/pid_table.h"
#include "collector/advance_rows.h"
#include "collector/consumer.h"
#include "collector/samples.h"
#include "collector/walk.h"
#include "profile/live_maps.h"
#include "script/script.h"
#include "wait/wait.h"

struct block_rows;
struct context_process;
struct context_rows;
struct wait_rows;

/* The interpreter of a process. */
struct process_script {
	struct script_process *process; /* owned; NULL: it was not looked for */
	struct owner owner;		/* the user of the process then */
	bool is_told;			/* the process was told of it, or cannot be */
	unsigned int nr_tries;
};

/* A process that has not ended. Its row in the profile has the number of its serial. */
struct process {
	uint32_t serial;
	pid_t pid;
	uint64_t program;  /* proc_program_id(); 0: not known */
	bool is_succeeded; /* executed another program, which goes by the pid now */
	uint32_t former;   /* serial of the same process before an exec; or SERIAL_NONE */
	struct space *space;
	struct map_watch maps;
	/* The thread-group leader or, before it is known, the thread that began last. */
	uint32_t main_thread; /* serial; SERIAL_NONE: there was no thread yet */
	struct thread_id main_row;
	struct thread_id unseen_row; /* of its short-lived threads; THREAD_NONE: not yet */
	bool has_leader;
	struct live_maps live_maps;
	struct process_script script;
	struct context_process *context; /* owned; NULL: no stack of it was walked */
	/* It had ended when it was found: it is ended after a round without a record of it. */
	bool is_found_late;
	uint64_t round, last_block_ns; /* the round and the time of its last record */
};

/* A thread that has not ended. */
struct thread {
	struct process *process;
	pid_t tid;
	struct thread_hints *hints; /* owned */
	struct stack_needs needs;
	uint64_t first_sp, thread_pointer; /* as in its last snapshot */
	struct thread_samples samples;
	struct advancing_thread advancing;
	struct seen_wait unproved; /* of its last sleep, if its owner was not known yet */
	struct script_thread script;
	bool is_blocked;      /* when last sampled */
	bool asks_registers;  /* for its labels: where its data are is not known */
	bool lacks_functions; /* its last stack does, as memory was not copied */
	bool is_touched;      /* is in consumer.touched */
	bool is_listed;	      /* is in consumer.unproved */
};

/* Each end of a thread asks these. */
#define UNPROVED_MAX 64

struct serial_list {
	uint32_t *at; /* owned */
	size_t nr, cap;
};

/* Objects by serial; NULL: has ended. This is small beside their rows in the profile. */
struct serial_table {
	void **at; /* owned */
	size_t nr, cap;
};

/* Callbacks that use the profile: see collector_options. */
struct consumer_hooks {
	void (*add_rows)(void *context, struct profile *profile);
	void *rows_context;
	void (*look)(void *context, const struct profile *profile);
	void *look_context;
};

/* Rounds of the block source, and messages that are handled after them. */
struct rounds {
	struct block_source source;
	uint64_t nr; /* rounds begun */
	bool is_open;
	struct message **waiting; /* owned, as is the array */
	size_t nr_waiting, cap_waiting;
	size_t nr_due;		 /* the number of messages that the open round covers */
	struct serial_list late; /* processes that were found late */
	bool is_hurried;	 /* no message follows */
	bool is_last;		 /* the open round began after that */
	uint32_t stack_bytes;
};

struct consumer {
	struct profile *profile; /* borrowed, as are the next two */
	struct store_writer *writer;
	struct snapshot_ring *used;
	struct consumer_hooks hooks;
	struct walker walker; /* all but its profile is owned */
	struct sample_sink sink;
	struct serial_table processes, threads;
	struct pid_table threads_by_tid, processes_by_pid;
	/* The rows of threads that are known from records of blocks alone, by process and id. */
	struct key_map writer_rows;
	struct block_rows *blocks; /* owned */
	struct rounds rounds;
	struct step_sink steps;
	struct interpreter_sink interpreters;
	bool is_over;
	struct wait_rows *waits;       /* owned */
	struct context_rows *contexts; /* owned */
	struct serial_list touched;    /* threads sampled since the last flush: few of thousands */
	struct serial_list unproved;   /* threads with .unproved: no more than UNPROVED_MAX */
	struct serial_list unwatched;  /* processes with stacks walked since the last watch */
	uint64_t restless_until_ns;    /* the latest of all processes */
	size_t nr_lacking; /* threads whose last stack lacks functions of an interpreter */
	struct collector_progress progress;
};

/* consumer.c */

void serial_list_add(struct serial_list *list, uint32_t serial);
/* Add the object of the next serial. */
void serial_table_add(struct serial_table *table, uint32_t serial, void *object);
/* The object of a serial; NULL: it has ended, or there is none. */
void *serial_table_find(const struct serial_table *table, uint32_t serial);
/* Likewise of a message, which is only ever about what has begun, and has not ended. */
void *serial_table_get(const struct serial_table *table, uint32_t serial);
/* Forget a process or a thread, if it is known: it has ended. */
void consumer_end_process(struct consumer *consumer, uint32_t serial);
void consumer_end_thread(struct consumer *consumer, uint32_t serial);
/* The thread of a process by its id; NULL: none is known. */
struct thread *consumer_thread_of(const struct consumer *consumer, const struct process *process,
				  pid_t tid);
/*
 * consumer_scripts.c: where blocks are recorded, look for the interpreter of a process that has
 * just been mapped. And tell a process of its interpreter, once it is known.
 */
void consumer_look_for_interpreter(struct consumer *consumer, struct process *process);
void consumer_tell_links(struct consumer *consumer, struct process *process);
/* The subject of walks, but for its thread. */
struct script_subject consumer_script_subject(struct process *process);
/*
 * Read the map of a process when no message waits (consumer_watch_maps()), as a stack of it is
 * walked: samples that wait now belong to the known map.
 */
void consumer_watch_later(struct consumer *consumer, struct process *process);

/* consumer_lives.c */

void consumer_handle_process(struct consumer *consumer, const struct message *message);
void consumer_handle_maps(struct consumer *consumer, const struct message *message);
void consumer_handle_process_rest(struct consumer *consumer, const struct message *message);
void consumer_handle_process_end(struct consumer *consumer, const struct message *message);
void consumer_handle_thread(struct consumer *consumer, const struct message *message);
void consumer_handle_thread_clocks(struct consumer *consumer, const struct message *message);
void consumer_handle_thread_end(struct consumer *consumer, const struct message *message);
/* The row of the main thread: it is added for a process without a known thread. */
struct thread_id consumer_main_row(struct consumer *consumer, struct process *process);
void consumer_name_thread(struct consumer *consumer, struct thread *thread, const char *name);
/* Tell the block source that a process ends, and set the end of its row. Keeps the process. */
void consumer_finish_process(struct consumer *consumer, struct process *process, uint64_t time_ns,
			     enum process_end how);
void consumer_note_blocked(struct consumer *consumer, struct thread *thread, bool is_blocked);
/* Count the threads whose last stack lacks functions of an interpreter. */
void consumer_note_functions(struct consumer *consumer, struct thread *thread, bool lacks);
/* Set the reason of the thread's last sleep, from now on. The owner may not be known yet. */
void consumer_set_wait(struct consumer *consumer, struct thread *thread,
		       const struct seen_wait *wait);
/* Set that reason again, if its owner was not known: it may be by now. */
void consumer_prove_owner(struct consumer *consumer, struct thread *thread);
/* If the owner is not known, do so when it ends: the thread goes on only after that. */
void consumer_list_unproved(struct consumer *consumer, struct thread *thread, uint32_t serial);

/* consumer_messages.c: handle a message, and free it. */
void consumer_handle_now(struct consumer *consumer, struct message *message);

#endif
