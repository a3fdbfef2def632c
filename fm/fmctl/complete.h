/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* complete: candidates of shell completion, shared by the files that find and print them. */
#ifndef FMD_FMCTL_COMPLETE_H
#define FMD_FMCTL_COMPLETE_H

#include "fm/fmctl/fmctl.h"

struct offers {
	const struct fmctl *ctl; /* to request names from fmd */
	const char *word;	 /* typed so far: the prefix of what is offered */
	size_t skip;		 /* bytes of each candidate that the shell has already */
	unsigned *asked;	 /* kinds of names that were offered, each once */
	bool bare;		 /* outside of quotes: blanks and the like are escaped */
};

/* Writes a candidate to stdout, if it begins with the word. */
void offer_text(const struct offers *offers, const char *text, size_t len);
/* complete_names.c: offers names that fmd knows. metavar: of the usage: HOST, WHAT, LEAF|SWITCH. */
void offer_names(const struct offers *offers, const char *metavar, size_t len);

#endif
