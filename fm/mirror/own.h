/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * own: what the files of this room share. Calls go down this list:
 *
 *   module.c      the hooks, the configuration, the listening socket, the clock; as master: all
 *                 rows, and then each change, go to the managers that copy them
 *   copy.c        as standby: what others send; that of the one that is master is taken over
 *   generation.c  what both ends say of themselves, and which rows go over; who was master when,
 *                 and what becomes of two that were
 *
 * Each manager connects to its peers and copies; who is connected to is asked by ROLE frames
 * whether it is master, and sends its rows when it is. A copy counts when all of it is there
 * (FRAME_WHOLE), and from a manager that the election made master.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/loop/loop.h"
#include "fm/mirror/channel.h"
#include "fm/mirror/generation.h"
#include "fm/os/listener.h"
#include "fm/state/state.h"
#include "topology/snapshot/topo.h"

#define MIRROR_PROTOCOL	   2
#define MIRROR_NAME	   64
#define MIRROR_NO_HELLO	   "it did not introduce itself first"
#define MIRROR_IMPLAUSIBLE "the number of its latest take-over is too large"
#define MIRROR_TICK_US	   500000 /* between two pings, and between two tries to connect at least */
#define MIRROR_PEERS	   8
#define MIRROR_READERS	   16	    /* connections whose HELLO has come */
#define MIRROR_UNKNOWN	   8	    /* connections without HELLO */
#define MIRROR_OWNERS	   64	    /* port GUIDs whose owners are known */
#define MIRROR_EACH	   8	    /* port GUIDs of one owner */
#define MIRROR_ASIDE	   ".aside" /* behind the name of a kind that another manager's replaced */

struct mirror;

struct manager {	  /* at the other end of a channel, as its HELLO has it */
	guid_t port_guid; /* 0 = it has not sent it yet */
	char name[MIRROR_NAME];
	struct generation generation; /* of its state_dir; of an older version empty */
	uint64_t unshared; /* its own take-over whose changes no standby had all; 0 = none */
	/* One of the two managers gives ports M_Keys that the other does not know. */
	bool other_keys;
	uint8_t proof[CHANNEL_PROOF]; /* channel_proof() */
};

struct reader { /* a manager that copies this one; the newest first */
	struct reader *next;
	struct mirror *mirror;
	struct channel *channel;
	int fd; /* the channel's */
	struct manager who;
	char from[MIRROR_NAME]; /* its address */
	uint64_t taken;		/* the latest change that it has */
	bool whole;		/* it has all changes before that one, too */
	uint64_t heard_us;
	bool sends; /* it gets all rows, kind by kind */
	struct rows_cursor at;
};

struct refusals { /* connections that ended before it was known whose they are */
	uint64_t count;
	char why[200]; /* of the latest of them */
	uint64_t logged_us;
};

struct peer { /* a manager that this one copies */
	struct mirror *mirror;
	char address[CONF_PEER]; /* HOST:PORT, as configured */
	const char *names;	 /* within it, those of its certificate; "" = any */
	struct channel *channel; /* NULL = not connected */
	bool opened;
	struct manager who;
	bool master;  /* it says so */
	bool whole;   /* `rows` are all it has */
	bool kept;    /* and the disk had it */
	bool answer;  /* it is to hear what has arrived */
	uint64_t seq; /* of the latest change in `rows` */
	uint64_t heard_us, retry_us;
	struct rowset rows;
	size_t bytes;	 /* that were sent of them */
	char error[160]; /* "" = none */
};

struct news { /* changes that are about to go out */
	struct bytes rows;
	struct loop_timer *send; /* armed: there are some */
	uint64_t sent_us;	 /* when some were sent last */
};

struct adoption {
	struct peer *from; /* its rows become this manager's; NULL = nobody's do */
	struct rows_cursor at;
	unsigned dropped; /* kinds of which no row is left that is not its */
	struct loop_timer *timer;
};

struct mirror {
	struct fabric *fabric;
	struct fabric_services services; /* those of the present life */
	struct channel_tls *tls;	 /* NULL = neither listens nor connects */
	char listening[80];
	int fd;
	struct listener *listener;
	uint64_t listen_us; /* no try to listen before */
	struct loop_timer *tick;
	struct loop_timer *answer; /* armed: a peer is to hear what has arrived */

	struct reader *readers;
	struct news news;
	struct loop_timer *whole; /* armed: a reader gets all rows */
	uint64_t seq;		  /* of the latest change */
	uint64_t matters;	  /* of the latest that is more than an event */
	uint64_t shared; /* the latest that a standby had with all before it; 0 = none had */
	bool owed;	 /* at the last tick no standby had the latest that matters */
	struct generation generation; /* of what is in state_dir */
	struct {		      /* who was master of its own */
		guid_t port_guid;
		uint64_t number; /* of the take-over that it was sent as counting */
	} met[MIRROR_READERS];
	unsigned nmet; /* in all: the next place, of that many */
	struct log_limit met_limit;
	struct refusals refused;

	struct peer peers[MIRROR_PEERS];
	unsigned npeers;
	guid_t copied; /* of whom state_dir is a copy now; 0 = nobody */
	struct adoption adopts;
	struct peer *confirms_to; /* once the disk has what it sent; NULL = nobody waits for that */
	uint64_t confirms;	  /* its `seq`, when the disk was asked for */
	bool was_master;
	/* when a copy was known to be whole last; at first, since when that is asked */
	uint64_t whole_us;
};

static inline uint64_t mirror_now(const struct mirror *m)
{
	return loop_now_us(m->services.loop);
}

/* copy.c */
void copy_adopt(void *mirror);	    /* goes on with it */
void copy_finish(struct mirror *m); /* all of it now */
/* Connects where it is not connected, and it is time; or at once: another manager has just come. */
void copy_connect(struct mirror *m, bool at_once);
void copy_answer(void *mirror); /* those who are to hear what has arrived */
/* Another manager is master now: its copy, where it is whole, is put on disk. */
void copy_follow(struct mirror *m);
/* Returns the peer that is master, borrowed, if a whole copy of it is here; else NULL. */
const struct peer *copy_whole(const struct mirror *m);
/* Returns why there is no whole copy, in words, borrowed until the next callback; never NULL. */
const char *copy_error(const struct mirror *m);
void copy_close(struct mirror *m);
/* Returns "peers" of the status, an array, the caller's. */
json_t *copy_json(const struct mirror *m);

/* generation.c: take-overs, in the file `takeovers`, and what follows when two had one */
/* m->generation is what state_dir has. */
void lineage_load(struct mirror *m);
/* This manager is master now: a take-over more than state_dir has. */
void lineage_take_over(struct mirror *m);
/* As master, at each tick: notes whether a standby has what was changed (`unshared`). */
void lineage_review(struct mirror *m);
/* As master: a standby says where it comes from. If it was master, this one counts behind it. */
void lineage_meet(struct mirror *m, const struct manager *standby);
/* The copy of that master is about to be in force: what it does not come from is put aside. */
void lineage_yield(struct mirror *m, const struct peer *master);

/* generation.c: hello */
/*
 * Whether rows of that kind go over, or are kept, beside those of a peer. Of kinds that this
 * version does not know there are so many at most; others are passed over.
 */
#define MIRROR_UNKNOWN_KINDS 8
bool mirror_takes(const struct rowset *beside, const char *kind);
/* Returns the object of a HELLO frame over that channel, the caller's. */
json_t *mirror_hello(const struct mirror *m, const struct channel *channel);
/* Who has which port GUID is a row of `peer_keys`; what was refused by them may be tried again. */
void mirror_read_owners(struct mirror *m);
/*
 * NULL, or why the other end is refused. It says once who it is: *who is empty before, and after a
 * refusal.
 */
const char *mirror_meet(struct mirror *m, const struct channel *channel, struct manager *who,
			const struct frame *hello);
/* Raises, or ends, the alerts about managers with other M_Keys (kind "peer-m-keys"). */
void mirror_review_keys(const struct mirror *m);
