/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is left of the answer to a fault when there is nothing to look at, to compute and to prove:
 * as many SMPs as it takes, sent as fast as libumad2sim and ibsim take them and give the answers
 * back. Get of the next switch's forwarding table, which is as long on the way as Set is and
 * changes nothing.
 *
 *   smp_floor COUNT WINDOW     prints the milliseconds of each of some rounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/mad/wire.h"
#include "topology/base/mem.h"

#define ROUNDS	9
#define BLOCKS	128
#define WAIT_MS 200
#define GATHER_US                                                                                  \
	50 /* while many are out: each wake-up takes the processor from those that answer */
#define GATHER_FOR 16
#define PERMISSIVE 0xffff

struct floor {
	void *buffer;
	int port, agent;
	unsigned count, window;
};

static void fail(const char *what)
{
	fprintf(stderr, "smp_floor: %s\n", what);
	exit(1);
}

static void ask(struct floor *f, unsigned i)
{
	struct wire_mad mad = { .mgmt_class = WIRE_SMI_DR,
				.class_version = 1,
				.method = WIRE_GET,
				.tid = i + 1,
				.attr_id = WIRE_LFT,
				.attr_mod = i % BLOCKS,
				.hop_count = 1,
				.dr_slid = PERMISSIVE,
				.dr_dlid = PERMISSIVE,
				.path = { 0, 1 } };

	memset(f->buffer, 0, umad_size() + WIRE_MAD_SIZE);
	umad_set_addr(f->buffer, PERMISSIVE, 0, 0, 0);
	wire_mad_encode(&mad, umad_get_mad(f->buffer));
	if (umad_send(f->port, f->agent, f->buffer, WIRE_MAD_SIZE, WAIT_MS, 0))
		fail("cannot send");
}

/* How many answers were there. */
static unsigned take(struct floor *f)
{
	unsigned taken = 0;

	for (;; taken++) {
		int length = WIRE_MAD_SIZE;

		if (umad_recv(f->port, f->buffer, &length, 0) < 0)
			return taken;
		if (umad_status(f->buffer))
			fail("no answer");
	}
}

static void wait_for(const struct floor *f, unsigned out)
{
	if (out >= GATHER_FOR)
		usleep(GATHER_US);
	else if (umad_poll(f->port, WAIT_MS))
		fail("no answer");
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double round_ms(struct floor *f)
{
	double start = now_ms();
	unsigned sent = 0, answered = 0;

	while (answered < f->count) {
		unsigned taken;

		while (sent < f->count && sent - answered < f->window)
			ask(f, sent++);
		taken = take(f);
		answered += taken;
		if (!taken)
			wait_for(f, sent - answered);
	}
	return now_ms() - start;
}

int main(int argc, char **argv)
{
	struct floor f = { 0 };

	if (argc != 3)
		fail("COUNT WINDOW");
	f.count = (unsigned)atoi(argv[1]);
	f.window = (unsigned)atoi(argv[2]);
	if (umad_init() < 0 || (f.port = umad_open_port(NULL, 0)) < 0 ||
	    (f.agent = umad_register(f.port, WIRE_SMI_DR, 1, 0, NULL)) < 0)
		fail("cannot open the port");
	f.buffer = mem_alloc(1, umad_size() + WIRE_MAD_SIZE); /* the size is known now */
	for (int i = 0; i < ROUNDS; i++)
		printf("%.3f\n", round_ms(&f));
	return 0;
}
