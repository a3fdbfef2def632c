/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* phase: what the pipe is at, and figures of it. */
#ifndef FMD_FABRIC_PHASE_H
#define FMD_FABRIC_PHASE_H

#include "fm/program/program.h"

enum fabric_state {
	FABRIC_STARTING, /* nothing known yet */
	FABRIC_BRINGUP,	 /* first tables and links under way */
	FABRIC_UP,	 /* all that was published is in the devices */
	FABRIC_CHANGING, /* up, and a change is being programmed */
	FABRIC_REFUSED,	 /* the newest tables were not proven: the old ones stay in force */
};

/* What rooms ask for by progress.h; written by the file that is at it. */
struct progress {
	enum fabric_state state;
	uint64_t started_us; /* this process */
	uint64_t up_us;	     /* it was up for the first time; 0 = not yet */
	unsigned unread;     /* blocks: all is written, and what was remembered is not read yet */
	uint64_t settled_us; /* all was settled, for the first time or behind a write; 0 = never */
	bool updating;
	bool programming, bringing_up;
	bool retrying; /* the publication under way tries again what was not acknowledged */
	bool due;      /* something was published since all was settled */
	bool wrote;    /* and it changed what devices hold */
};

/* Of the latest of each kind, for the status. */
struct figures {
	double sweep_ms, route_ms, check_ms, program_ms, bringup_ms;
	unsigned reroutes;    /* updates that changed tables, since the beginning */
	uint64_t rerouted_us; /* the latest of them; 0 = none */
	uint64_t polls;	      /* light sweeps that ended, since the beginning */
	bool check_whole;     /* the latest proof was of all entries */
	unsigned sweep_smps, silent, partial;
	unsigned silent_logged;		    /* nodes */
	unsigned links_failed, links_fresh; /* as in bringup_result */
	struct program_result programmed;
};

#endif
