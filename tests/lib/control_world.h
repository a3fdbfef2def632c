/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control_world: the control socket with a client, on the fake fabric of control_fabric.h: three
 * hosts on a switch. Include cmocka first.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "tests/lib/control_fabric.h"
#include "topology/snapshot/topo_builder.h"

#define PATIENCE                                                                                   \
	20000 /* rounds before a test gives up waiting: far more than a busy machine needs */
#define ROUND_LOOKS 8 /* looks at the descriptors: what a client did before is met, step by step */
#define LOOK_US	    500
#define BIG_TOP	    40000
#define CLIENTS	    32

struct fixture {
	char dir[64], path[96];
	struct loop *loop;
	struct loop_timer *round;
	unsigned looks; /* of this round */
	struct fabric fabric;
	struct control *control;
	const char *reload_error;
	int fd;	    /* a client */
	char *text; /* what it has read */
	size_t len, size;
};

int dial(const char *path);

/*
 * Counted in looks, not in time: between two looks this process may be held up for longer than any
 * timer lasts.
 */
void run_round(struct fixture *f);
struct control *open_control(struct fixture *f, char *err, size_t size);
int set_up(void **state);
int set_up_big(void **state);
int tear_down(void **state);
void say(struct fixture *f, const char *text);

enum heard { HEARD_TEXT, HEARD_NOTHING, HEARD_END };

enum heard hear(struct fixture *f);

/* The loop runs until `end` was read. */
char *hear_until(struct fixture *f, char end);
bool hear_end(struct fixture *f);
void answers(struct fixture *f, const char *expected);
json_t *ask_control(struct fixture *f, const char *request);
json_t *item(json_t *answer, const char *list, size_t index);
