/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* complete: what a shell may offer, between the files that find it and those that print it. */
#ifndef FMD_FMCTL_COMPLETE_H
#define FMD_FMCTL_COMPLETE_H

#include "fm/fmctl/fmctl.h"

struct offers {
	const struct fmctl *ctl; /* to ask fmd for names */
	const char *word;	 /* typed so far; what does not begin so is not offered */
	size_t skip;		 /* bytes of each that the shell has set aside */
	unsigned *asked;	 /* kinds of names that were offered: each once */
	bool bare;		 /* outside of quotes: blanks and the like are to be escaped */
};

/* One candidate, to stdout, if it begins with the word. */
void offer_text(const struct offers *offers, const char *text, size_t len);
/* complete_names.c: names that fmd knows. metavar: as usage has it, HOST, WHAT, LEAF|SWITCH .. */
void offer_names(const struct offers *offers, const char *metavar, size_t len);

#endif
