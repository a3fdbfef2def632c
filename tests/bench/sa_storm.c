/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Get(PathRecord) as libibumad sends it, at a rate that does not ask whether answers come: what
 * thousands of hosts do when a job starts.
 *
 *   sa_storm SECONDS RATE [LID]
 *
 * To the subnet manager's LID, or to another, where nobody takes them: what the rig alone costs.
 * From the own port to LIDs by turns. Prints one JSON object.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/umad.h>
#include "fm/mad/wire_sa.h"
#include "topology/base/mem.h"

#define QP1_QKEY   0x80010000u /* IBA 3.5.3 */
#define BURST	   64
#define TAKEN_MOST 256
#define LIDS	   8000 /* asked for by turns */
#define NAP_NS	   200000
#define WAIT_MS	   100

struct storm {
	int port, agent;
	uint16_t lid, to;
	void *out, *in;
	unsigned long sent, answered, other;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
	fprintf(stderr, "sa_storm: %s\n", what);
	exit(1);
}

static void begin(struct storm *s, const char *lid)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	umad_port_t port;

	umad_init();
	if (umad_get_cas_names(names, UMAD_MAX_DEVICES) < 1)
		fail("no adapter");
	s->port = umad_open_port(names[0], 1);
	s->agent = s->port < 0 ? -1 : umad_register(s->port, WIRE_SA, 2, 0, NULL);
	if (s->agent < 0 || umad_get_port(names[0], 1, &port))
		fail("the port cannot be used");
	s->lid = (uint16_t)port.base_lid;
	s->to = lid ? (uint16_t)atoi(lid) : (uint16_t)port.sm_lid;
	umad_release_port(&port);
	s->out = mem_alloc(1, umad_size() + WIRE_MAD_SIZE);
	s->in = mem_alloc(1, umad_size() + WIRE_MAD_SIZE);
	umad_set_addr(s->out, s->to, 1, 0, QP1_QKEY);
}

static void ask(struct storm *s)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET,
					 .tid = s->sent + 1,
					 .attr_id = WIRE_SA_PATH };
	const struct wire_path_record want = { .slid = s->lid,
					       .dlid = (uint16_t)(1 + s->sent % LIDS),
					       .num_path = 1 };
	const uint64_t mask = htobe64(WIRE_BIT(WIRE_PATH(slid)) | WIRE_BIT(WIRE_PATH(dlid)) |
				      WIRE_BIT(WIRE_PATH(num_path)));
	uint8_t *mad = umad_get_mad(s->out);

	memset(mad, 0, WIRE_MAD_SIZE);
	wire_mad_encode(&header, mad);
	memcpy(mad + WIRE_SA_HEADER - sizeof(mask), &mask, sizeof(mask));
	wire_path_record_encode(&want, mad + WIRE_SA_HEADER);
	if (umad_send(s->port, s->agent, s->out, WIRE_MAD_SIZE, WAIT_MS, 0))
		fail("cannot send");
	s->sent++;
}

static unsigned take(struct storm *s, int wait_ms)
{
	unsigned taken = 0;

	for (int len = WIRE_MAD_SIZE;
	     taken < TAKEN_MOST && umad_recv(s->port, s->in, &len, wait_ms) >= 0;
	     len = WIRE_MAD_SIZE) {
		const uint8_t *mad = umad_get_mad(s->in);
		bool answer = !umad_status(s->in) && mad[3] & WIRE_RESPONSE && !mad[4] && !mad[5];

		*(answer ? &s->answered : &s->other) += 1;
		taken++;
	}
	return taken;
}

static void storm(struct storm *s, double seconds, double rate)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double began = now_s(), until = began + seconds;

	for (double now = began; now < until; now = now_s()) {
		unsigned long due = (unsigned long)((now - began) * rate);
		unsigned sent = 0;

		for (; s->sent < due && sent < BURST; sent++)
			ask(s);
		if (!take(s, 0) && !sent)
			nanosleep(&nap, NULL);
	}
}

int main(int argc, char **argv)
{
	struct storm s = { 0 };

	if (argc != 3 && argc != 4)
		fail("usage: sa_storm SECONDS RATE [LID]");
	begin(&s, argc > 3 ? argv[3] : NULL);
	storm(&s, atof(argv[1]), atof(argv[2]));
	printf("{\"sent\": %lu, \"answered\": %lu, \"other\": %lu, \"sent_per_s\": %.0f, "
	       "\"answered_per_s\": %.0f}\n",
	       s.sent, s.answered, s.other, (double)s.sent / atof(argv[1]),
	       (double)s.answered / atof(argv[1]));
	free(s.out);
	free(s.in);
	umad_close_port(s.port);
	return 0;
}
