/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client of the subnet administration that asks for paths as hosts do, as fast as it is answered.
 *
 *   sa_load SECONDS WINDOW <GUIDS
 *
 * GUIDS: port GUIDs in hexadecimal, one a line. WINDOW requests are out at a time, each a Get(PathRecord) of a random pair by GIDs, with
 * the components that rdma_cm names. Prints one JSON object: rates and times in microseconds; worst_* are those of the worst tenth of a second.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/umad.h>
#include "fm/mad/wire_sa.h"
#include "topology/mem.h"
#include "topology/random.h"

#define WINDOW_MAX 1024
#define LOST_US	   2000000
#define BUCKET_US  100000
#define QKEY	   0x80010000u
#define STATUS_AT  4
#define TID_AT	   8

struct load {
	int port, agent;
	uint16_t sm_lid;
	uint64_t prefix, *guids;
	unsigned nguids, window, in_flight;
	uint64_t random, start, end;
	uint64_t sent_at[WINDOW_MAX]; /* 0: the slot is free */
	uint32_t tid[WINDOW_MAX], next_tid;
	struct sample {
		uint32_t at, took; /* us since start; us */
	} * samples;
	size_t nsamples, size;
	unsigned lost, busy, errors;
	void *tx, *rx;
};

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void fail(const char *what)
{
	fprintf(stderr, "sa_load: %s\n", what);
	exit(1);
}

static uint64_t pick_guid(struct load *l)
{
	return l->guids[random_next(&l->random) % l->nguids];
}

static void request_fill(struct load *l, uint8_t mad[WIRE_MAD_SIZE], uint32_t tid)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET,
					 .tid = tid,
					 .attr_id = WIRE_SA_PATH };
	const struct wire_path_record want = { .dgid = { l->prefix, pick_guid(l) },
					       .sgid = { l->prefix, pick_guid(l) },
					       .reversible = true,
					       .num_path = 1,
					       .pkey = 0xffff };
	const uint64_t mask = htobe64(WIRE_BIT(WIRE_PATH_DGID) | WIRE_BIT(WIRE_PATH_SGID) |
				      WIRE_BIT(WIRE_PATH_REVERSIBLE) |
				      WIRE_BIT(WIRE_PATH_NUM_PATH) | WIRE_BIT(WIRE_PATH_PKEY));

	memset(mad, 0, WIRE_MAD_SIZE);
	wire_mad_encode(&header, mad);
	memcpy(mad + WIRE_SA_HEADER - sizeof(mask), &mask, sizeof(mask));
	wire_path_record_encode(&want, mad + WIRE_SA_HEADER);
}

static void send_one(struct load *l, unsigned slot)
{
	if (++l->next_tid == 0)
		l->next_tid = 1;
	l->tid[slot] = l->next_tid * WINDOW_MAX + slot;
	request_fill(l, umad_get_mad(l->tx), l->tid[slot]);
	umad_set_addr(l->tx, l->sm_lid, 1, 0, (int)QKEY);
	l->sent_at[slot] = now_us();
	if (umad_send(l->port, l->agent, l->tx, WIRE_MAD_SIZE, LOST_US / 1000, 0))
		fail("cannot send");
	l->in_flight++;
}

static void sample_add(struct load *l, uint64_t sent_at)
{
	if (l->nsamples == l->size) {
		l->size = l->size ? l->size * 2 : 65536;
		l->samples = mem_resize(l->samples, l->size, sizeof(*l->samples));
	}
	l->samples[l->nsamples++] = (struct sample){ .at = (uint32_t)(sent_at - l->start),
						     .took = (uint32_t)(now_us() - sent_at) };
}

static void take_answer(struct load *l)
{
	const uint8_t *mad = umad_get_mad(l->rx);
	uint32_t tid = 0;
	unsigned slot;

	memcpy(&tid, mad + TID_AT + 4, sizeof(tid));
	tid = be32toh(tid);
	slot = tid % WINDOW_MAX;
	if (!l->sent_at[slot] || l->tid[slot] != tid)
		return;
	if (umad_status(l->rx))
		l->lost++;
	else if (mad[STATUS_AT] || mad[STATUS_AT + 1])
		*(mad[STATUS_AT + 1] & 1 ? &l->busy : &l->errors) += 1;
	else
		sample_add(l, l->sent_at[slot]);
	l->sent_at[slot] = 0;
	l->in_flight--;
}

static void drop_lost(struct load *l)
{
	uint64_t now = now_us();

	for (unsigned i = 0; i < l->window; i++)
		if (l->sent_at[i] && now - l->sent_at[i] > LOST_US) {
			l->sent_at[i] = 0;
			l->in_flight--;
			l->lost++;
		}
}

static void run(struct load *l)
{
	while (now_us() < l->end || l->in_flight) {
		int len = WIRE_MAD_SIZE;

		for (unsigned i = 0; i < l->window && now_us() < l->end; i++)
			if (!l->sent_at[i])
				send_one(l, i);
		if (umad_recv(l->port, l->rx, &len, 10) >= 0)
			take_answer(l);
		else
			drop_lost(l);
	}
}

/* ---- Figures ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct sample *)a)->took, y = ((const struct sample *)b)->took;

	return x < y ? -1 : x > y;
}

static uint32_t part_of(struct sample *s, size_t count, double part)
{
	qsort(s, count, sizeof(*s), compare);
	return count ? s[(size_t)((double)(count - 1) * part)].took : 0;
}

static uint32_t worst_p99(const struct load *l)
{
	struct sample *bucket = mem_alloc(l->nsamples + 1, sizeof(*bucket));
	uint32_t worst = 0;

	for (uint64_t from = 0; from < l->end - l->start; from += BUCKET_US) {
		size_t count = 0;
		uint32_t p99;

		for (size_t i = 0; i < l->nsamples; i++)
			if (l->samples[i].at >= from && l->samples[i].at < from + BUCKET_US)
				bucket[count++] = l->samples[i];
		p99 = part_of(bucket, count, 0.99);
		worst = p99 > worst ? p99 : worst;
	}
	free(bucket);
	return worst;
}

static void print(struct load *l, double seconds)
{
	uint32_t worst = worst_p99(l);

	printf("{\"answered\": %zu, \"rate\": %.0f, \"p50_us\": %u, \"p99_us\": %u, \"max_us\": "
	       "%u, "
	       "\"worst_p99_us\": %u, \"busy\": %u, \"errors\": %u, \"lost\": %u}\n",
	       l->nsamples, (double)l->nsamples / seconds, part_of(l->samples, l->nsamples, 0.5),
	       part_of(l->samples, l->nsamples, 0.99), part_of(l->samples, l->nsamples, 1), worst,
	       l->busy, l->errors, l->lost);
}

/* ---- Beginning --------------------------------------------------------------------------------- */

static void read_guids(struct load *l)
{
	uint64_t guid;

	while (scanf("%" SCNx64, &guid) == 1) {
		l->guids = mem_resize(l->guids, l->nguids + 1, sizeof(*l->guids));
		l->guids[l->nguids++] = guid;
	}
	if (!l->nguids)
		fail("no GUIDs");
}

static void open_port(struct load *l)
{
	umad_port_t port;

	if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0)
		fail("no port");
	l->sm_lid = (uint16_t)port.sm_lid;
	l->prefix = be64toh(port.gid_prefix);
	umad_release_port(&port);
	l->port = umad_open_port(NULL, 0);
	l->agent = umad_register(l->port, WIRE_SA, 2, 1, NULL);
	if (l->port < 0 || l->agent < 0)
		fail("cannot open the port");
}

int main(int argc, char **argv)
{
	struct load l = { .random = 1 };
	double seconds = argc == 3 ? atof(argv[1]) : 0;

	l.window = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	if (seconds <= 0 || !l.window || l.window > WINDOW_MAX)
		fail("usage: sa_load SECONDS WINDOW <GUIDS");
	read_guids(&l);
	open_port(&l);
	l.tx = mem_alloc(1, umad_size() + WIRE_MAD_SIZE);
	l.rx = mem_alloc(1, umad_size() + WIRE_MAD_SIZE);
	l.start = now_us();
	l.end = l.start + (uint64_t)(seconds * 1e6);
	run(&l);
	print(&l, seconds);
	umad_close_port(l.port);
	free(l.guids);
	free(l.samples);
	free(l.tx);
	free(l.rx);
	return 0;
}
