/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control: what may be said to the fabric double while it runs, a line at a time: cables, devices,
 * faults, load, and looks at what it holds.
 *
 *     unlink leaf-01:33          node off spine-02         lose 5% leaf-01:33
 *     at 2.5s link leaf-01:33    packet h1 h2              help
 *
 * Words are parted by blanks; a name with blanks stands in quotes. What follows `#` is for readers.
 * Times are 20us, 2ms, 2.5s; shares 5%, 0.5%. A command that can't be done says why, and nothing is
 * changed. What is random follows the double's seed, so that the same lines at the same times, with
 * the same seed, do the same.
 */
#pragma once

#include <stdio.h>
#include "tests/fabric/double.h"

struct sim_control;

/* The double stays the caller's, and outlives it. */
struct sim_control *sim_control_new(struct double_fabric *d);
void sim_control_free(
	struct sim_control *c); /* what was put off is not done any more; NULL is fine */

/*
 * Does one line, and writes whole lines about it to `out`. 0, or -EINVAL with a line `error: ..`.
 */
int sim_control_line(struct sim_control *c, const char *line, FILE *out);

/*
 * Does the lines of a script, one after the other; those that begin with `at` wait for their time,
 * from now. 0; the first line that is wrong ends it with -EINVAL, and `FILE:LINE: ..` in err; a
 * file that can't be read: -errno.
 */
int sim_control_script(struct sim_control *c, const char *path, char *err, size_t err_size);
int sim_control_script_text(struct sim_control *c, const char *name, const char *text, char *err,
			    size_t err_size);

/* 20us, 2ms, 2.5s; false: it is no time. */
bool sim_control_time(const char *word, uint64_t *us);

/*
 * What is put off is written there when it is done: its time in seconds, the line, and what it
 * says. NULL (as at first): nowhere.
 */
void sim_control_set_log(struct sim_control *c, FILE *log);
