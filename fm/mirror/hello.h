/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hello: what both ends of a channel say of themselves first, and which files go over it.
 */
#ifndef FMD_MIRROR_HELLO_H
#define FMD_MIRROR_HELLO_H

#include "fm/mirror/channel.h"
#include "fm/mirror/generation.h"
#include "topology/snapshot/topo.h"

#define MIRROR_PROTOCOL	   1
#define MIRROR_NAME	   64
#define MIRROR_NO_HELLO	   "it did not introduce itself first"
#define MIRROR_IMPLAUSIBLE "the number of its latest take-over is too large"

struct contents;
struct mirror;

struct manager {	  /* at the other end of a channel, as its HELLO has it */
	guid_t port_guid; /* 0 = it has not said so yet */
	char name[MIRROR_NAME];
	bool records;		      /* it takes changes of files, record by record */
	struct generation generation; /* of its state_dir; of an older version empty */
	uint64_t unshared; /* its own take-over whose changes no standby had all; 0 = none */
	/* One of the two managers gives ports M_Keys that the other does not know. */
	bool other_keys;
	uint8_t proof[CHANNEL_PROOF]; /* channel_proof() */
};

/*
 * False: no other manager needs it, or has a say in it. Tables are read from the switches, M_Keys
 * do not travel; journal, lock and manifest, and what was put aside or never copied, are this
 * one's.
 */
bool mirror_has(const char *name);
/*
 * Whether it goes over, or is kept, beside those of `contents`. Of names that this version does not
 * know there are so many at most, in memory and in state_dir; others are passed over.
 */
#define MIRROR_UNKNOWN_FILES 8
bool mirror_takes(const struct mirror *m, const struct contents *contents, const char *name);
/* Returns the object of a HELLO frame over that channel, the caller's. */
json_t *mirror_hello(const struct mirror *m, const struct channel *channel);
/* Returns the take-overs for HELLO and ROLE frames, the caller's. */
json_t *mirror_generation(const struct mirror *m);
/*
 * NULL, or why the other end is refused. It says once who it is: *who is empty before, and after a
 * refusal.
 */
const char *mirror_meet(const struct mirror *m, const struct channel *channel, struct manager *who,
			const struct frame *hello);
/* Raises, or ends, the alerts about managers with other M_Keys (kind "peer-m-keys"). */
void mirror_review_keys(const struct mirror *m);

#endif
