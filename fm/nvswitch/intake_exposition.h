/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * exposition: parses Prometheus' text format (0.0.4) in pieces of any size.
 *
 * Nothing is allocated: a line is copied into the reader's buffer. The first fault (a malformed
 * line, a wanted line longer than the buffer, a body that ends within a line) ends the reading: the
 * whole body is discarded then.
 */
#ifndef FMD_NVSWITCH_INTAKE_EXPOSITION_H
#define FMD_NVSWITCH_INTAKE_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPOSITION_LINE	  8192 /* bytes; exporters' lines are some hundreds */
#define EXPOSITION_LABELS 48   /* of a sample; more are read and left out */

struct exposition_text { /* not ended by a zero byte */
	const char *at;
	size_t len;
};
struct exposition_sample {
	double value;
	unsigned nlabels;
	struct {
		struct exposition_text name, value; /* value: as written, with its escapes */
	} labels[EXPOSITION_LABELS];
};
struct exposition_ops {
	/*
	 * Returns the caller's number of a metric, < 0 = not wanted: its lines are skipped. Called
	 * once for consecutive lines of one name.
	 */
	int (*kind)(void *arg, struct exposition_text name);
	/* Takes a sample, which is valid during the call. */
	void (*sample)(void *arg, int kind, const struct exposition_sample *sample);
};

struct exposition { /* the caller's; nothing to free */
	const struct exposition_ops *ops;
	void *arg;
	const char *fault; /* a static text; NULL = none so far */
	int kind;	   /* of the latest name */
	size_t name_len, carried;
	char name[128];
	char carry[EXPOSITION_LINE];
};

/* Starts with a new body; ops is borrowed until its end. */
void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg);
/* Take a piece of the body, and its end. False: there is a fault, see e->fault. */
bool exposition_feed(struct exposition *e, const char *data, size_t len);
bool exposition_end(struct exposition *e);

/*
 * The value of a label, of the first of "NAME|OTHER.." that the sample has, within the sample; its
 * `at` is NULL if it has none.
 */
struct exposition_text exposition_label(const struct exposition_sample *sample, const char *names);
/* Whether a name or a value is that word. */
bool exposition_is(struct exposition_text text, const char *word);
/* Copies a value without its escapes, cut to size and ended by a zero byte. */
void exposition_copy(struct exposition_text text, char *to, size_t size);
/* The same for what is shown, and kept in a file by words: what is not printable becomes `?`. */
void exposition_copy_shown(struct exposition_text text, char *to, size_t size);

#endif
