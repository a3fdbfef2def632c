/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * exposition: Prometheus' text format (0.0.4), read as it comes, in pieces of any size.
 *
 * Nothing is allocated: a line lies in the piece, or in the reader's buffer when a piece ends
 * within it. The first fault (a line that is none, or longer than the buffer, or a body that ends
 * within a line) ends the reading: a body is believed whole or not at all.
 */
#ifndef FMD_NVSWITCH_EXPOSITION_H
#define FMD_NVSWITCH_EXPOSITION_H

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
	 * Which of the caller's kinds a metric is, < 0 = not wanted: its lines are passed over.
	 * Asked once for a row of lines of one name.
	 */
	int (*kind)(void *arg, struct exposition_text name);
	void (*sample)(void *arg, int kind, const struct exposition_sample *sample);
};

struct exposition { /* the caller's; nothing to free */
	const struct exposition_ops *ops;
	void *arg;
	unsigned long lines;
	const char *fault; /* words; NULL = none so far */
	int kind;	   /* of the name before */
	size_t name_len, carried;
	char name[128];
	char carry[EXPOSITION_LINE];
};

void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg);
bool exposition_feed(struct exposition *e, const char *data, size_t len); /* false: a fault */
bool exposition_end(struct exposition *e); /* the body is over; false: a fault */

/* The value of a label, NULL at when it is not there. */
struct exposition_text exposition_label(const struct exposition_sample *sample, const char *name);
/* A value without its escapes, cut to size and ended by a zero byte. */
void exposition_copy(struct exposition_text text, char *to, size_t size);

#endif
