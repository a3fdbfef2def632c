/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * own: what the files of this room share. Calls go down this list:
 *
 *   module.c   the hooks, the configuration, the listening socket, the clock
 *   source.c   as master: what is on disk goes to all managers that copy it
 *   copy.c     as standby: what other managers send; of the one that is master it is put on disk
 *   lineage.c  who was master when, and what becomes of two that were
 *   hello.c    what both ends say of themselves, and which files go over
 *
 * Each manager connects to its peers and copies; who is connected to is asked by ROLE frames
 * whether it is master, and sends its files when it is. A copy counts when all of it is there
 * (FRAME_WHOLE), and from a manager that the election made master.
 */
#ifndef FMD_MIRROR_OWN_H
#define FMD_MIRROR_OWN_H

#include "fm/os/listener.h"
#include "fm/loop/loop.h"
#include "fm/fabric/module.h"
#include "fm/mirror/channel.h"
#include "fm/mirror/contents.h"
#include "fm/mirror/generation.h"
#include "fm/mirror/hello.h"
#include "fm/state/state_copy.h"

#define MIRROR_TICK_US 500000 /* between two pings, and between two tries to connect at least */
#define MIRROR_PEERS   8
#define MIRROR_READERS 16 /* connections whose HELLO has come */
#define MIRROR_UNKNOWN                                                                             \
	32 /* connections without HELLO; the oldest of the most from one address makes way */
#define MIRROR_ASIDE ".aside" /* behind the name of a file that another manager's replaced */

struct mirror;

struct reader { /* a manager that copies this one; the newest first */
	struct reader *next;
	struct mirror *mirror;
	struct channel *channel;
	struct manager who;
	char from[MIRROR_NAME]; /* its address */
	uint64_t taken;		/* the latest change that it has */
	bool whole;		/* it has all changes before that one, too */
	uint64_t heard_us;
};

struct peer { /* a manager that this one copies */
	struct mirror *mirror;
	char address[MIRROR_NAME]; /* HOST:PORT, as configured */
	struct channel *channel;   /* NULL = not connected */
	bool opened;
	struct manager who;
	bool master;  /* it says so */
	bool whole;   /* `contents` is all it has */
	bool answer;  /* it is to hear what has arrived */
	uint64_t seq; /* of the latest change in `contents` */
	uint64_t heard_us, retry_us;
	struct contents contents;
	char error[160]; /* "" = none */
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
	struct contents own;	 /* as readers have it; records: those that are about to go out */
	struct loop_timer *send; /* armed: there are some */
	uint64_t sent_us;	 /* when some were sent last */
	uint64_t seq;		 /* of the latest change that was sent */
	uint64_t matters;	 /* of the latest that is more than an event's line */
	uint64_t shared;   /* the latest that a standby had with all before it; 0 = none had */
	bool owed;	   /* at the last tick no standby had the latest that matters */
	uint64_t unshared; /* the take-over some changes of which no standby had; 0 = none */
	struct generation generation; /* of what is in state_dir */
	struct {		      /* who was master of its own, and was told.. */
		guid_t port_guid;
		uint64_t number; /* ..that this one counts behind that take-over */
	} met[MIRROR_READERS];
	unsigned nmet; /* in all: the next place, of that many */
	struct log_limit met_limit;
	uint64_t refused;      /* connections that ended before it was known whose they are */
	char refused_why[200]; /* the latest of them */
	uint64_t refused_said_us;

	struct peer peers[MIRROR_PEERS];
	unsigned npeers;
	guid_t copied; /* of whom state_dir is a copy now; 0 = nobody */
	bool was_master;
	/* when a copy was known to be whole last; at first, since when that is asked */
	uint64_t whole_us;
};

/* copy.c */
void copy_tick(struct mirror *m); /* connects where it is time */
/* Connects at once where it is not connected: another manager has just come. */
void copy_retry(struct mirror *m);
void copy_answer(struct mirror *m); /* those who are to hear what has arrived */
/* Another manager is master now: its copy, where it is whole, is put on disk. */
void copy_follow(struct mirror *m);
/* Returns the peer that is master, borrowed, if a whole copy of it is here; else NULL. */
const struct peer *copy_whole(const struct mirror *m);
/* Returns why there is no whole copy, in words, borrowed until the next callback; never NULL. */
const char *copy_error(const struct mirror *m);
void copy_close(struct mirror *m);
/* Returns "peers" of the status, an array, the caller's. */
json_t *copy_json(const struct mirror *m);

#endif
