/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf_table: all there is to say about a key of fmd.conf: its name (OpenSM's where people know
 * it), the field it fills, what it may be and its default. Private to fm/conf.
 */
#pragma once

#include "fm/conf/conf.h"

enum conf_kind {
	CONF_INTEGER, /* int */
	CONF_SECONDS, /* seconds with a fraction, kept as int milliseconds; 0 = off */
	CONF_HEX64,   /* uint64_t, written as a string */
	CONF_TEXT,    /* char array */
	CONF_WORD,    /* int: the number of one of `words` */
	CONF_FLAG,    /* bool */
	CONF_REAL,    /* double; 0 = off */
};

struct conf_option {
	const char *name;
	enum conf_kind kind;
	size_t offset, size;  /* of the field in struct conf */
	double min, max;      /* INTEGER, SECONDS, REAL */
	double number;	      /* default: INTEGER, SECONDS, REAL, FLAG, WORD */
	const char *text;     /* default: HEX64, TEXT */
	const char *unit;     /* for messages; NULL = none */
	const char *words[9]; /* WORD, the last NULL */
	int first;	      /* WORD: the number of words[0] */
	/* TEXT, or NULL: what may be written; false with a reason in why */
	bool (*check)(const char *text, char *why, size_t size);
};

/* Keys of before: in a file they are no error, for an upgrade must not stop a manager. */
struct conf_gone {
	const char *name, *recipe;
};
extern const struct conf_gone conf_gone[];
extern const size_t conf_ngone;

extern const struct conf_option conf_options[];
extern const size_t conf_noptions;
