/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keys: does another manager's M_Key protect this fabric (IBA 14.2.4)? Judged from what a sweep has
 * read.
 */
#ifndef FMD_SM_KEYS_H
#define FMD_SM_KEYS_H

#include "fm/events/alert.h"
#include "fm/conf/conf.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"

/* The caller's; all zero but for these four = nothing is known. */
struct keys {
	struct mad *mad;
	struct alerts *alerts;
	const struct conf *conf;
	loop_fn *answered; /* KEYS_ASKED has an answer: judge again; with arg */
	void *arg;

	mad_token ask;
	uint64_t key;	/* that it is asked with.. */
	unsigned asked; /* ..behind so many others.. */
	bool right;	/* ..and is what it hides */
	bool foreign;	/* as last judged, and the alert foreign-m-key is raised */
};

enum keys_verdict {
	KEYS_OURS,    /* of all nodes but a few */
	KEYS_ASKED,   /* one port is being asked with other keys first */
	KEYS_FOREIGN, /* nothing may be written; an alert says so */
};

/*
 * Judges what a sweep has read. KEYS_ASKED: answered() is called from the loop, and it is to be
 * judged again then; a sweep that ends meanwhile gets KEYS_ASKED again.
 */
enum keys_verdict keys_judge(struct keys *keys, struct inventory *inventory);
/* Forgets what was judged and asked, and ends the alert. */
void keys_end(struct keys *keys);
/* Why operators' commands are not taken; a literal. NULL = keys are no reason. */
const char *keys_refusal(const struct keys *keys);

#endif
