/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client of the subnet administration that asks for paths as hosts do, as fast as it is answered.
 *
 *   sa_load SECONDS WINDOW <GUIDS
 *
 * GUIDS: port GUIDs in hexadecimal, one a line. WINDOW requests are out at a time, each a
 * Get(PathRecord) of a random pair by GIDs, with the components that rdma_cm names. It speaks to
 * ibsim without libumad2sim (sim_port.h), so as not to measure itself. Prints one JSON object:
 * rates and times in microseconds; worst_* are those of the worst tenth of a second.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include "fm/mad/wire_sa.h"
#include "tests/bench/sim_port.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define WINDOW_MAX 1024
#define LOST_US	   2000000
#define BUCKET_US  100000
#define NAP_NS	   100000
#define STATUS_AT  4
#define TID_AT	   8

struct load {
	struct sim_port port;
	uint64_t *guids;
	unsigned nguids, window, in_flight;
	uint64_t random, start, end;
	uint64_t sent_at[WINDOW_MAX]; /* 0: the slot is free */
	uint32_t tid[WINDOW_MAX], next_tid;
	struct sample {
		uint32_t at, took; /* us since start; us */
	} * samples;
	size_t nsamples, size;
	unsigned lost, busy, errors;
	struct sim_packet packets[SIM_BATCH];
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
	const struct wire_path_record want = { .dgid = { l->port.prefix, pick_guid(l) },
					       .sgid = { l->port.prefix, pick_guid(l) },
					       .reversible = true,
					       .num_path = 1,
					       .pkey = 0xffff };
	const uint64_t mask = htobe64(WIRE_BIT(WIRE_PATH(dgid)) | WIRE_BIT(WIRE_PATH(sgid)) |
				      WIRE_BIT(WIRE_PATH(reversible)) |
				      WIRE_BIT(WIRE_PATH(num_path)) | WIRE_BIT(WIRE_PATH(pkey)));

	memset(mad, 0, WIRE_MAD_SIZE);
	wire_mad_encode(&header, mad);
	memcpy(mad + WIRE_SA_HEADER - sizeof(mask), &mask, sizeof(mask));
	wire_path_record_encode(&want, mad + WIRE_SA_HEADER);
}

static void packet_fill(struct load *l, struct sim_packet *packet, unsigned slot)
{
	if (++l->next_tid == UINT32_MAX / WINDOW_MAX)
		l->next_tid = 1;
	l->tid[slot] = l->next_tid * WINDOW_MAX + slot;
	*packet = (struct sim_packet){ .dlid = htobe16(l->port.sm_lid),
				       .dqp = htobe32(1),
				       .sqp = htobe32(1),
				       .length = htobe64(WIRE_MAD_SIZE) };
	request_fill(l, packet->mad, l->tid[slot]);
}

/* All that the window lets out, at one time. */
static void refill(struct load *l)
{
	uint64_t now = now_us();
	unsigned count = 0;

	if (now >= l->end)
		return;
	for (unsigned i = 0; i < l->window && count < SIM_BATCH; i++)
		if (!l->sent_at[i]) {
			packet_fill(l, &l->packets[count++], i);
			l->sent_at[i] = now;
		}
	if (!sim_port_send(&l->port, l->packets, count))
		fail("cannot send");
	l->in_flight += count;
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

static void take_answer(struct load *l, const struct sim_packet *packet)
{
	const uint8_t *mad = packet->mad;
	uint32_t tid = 0;
	unsigned slot;

	memcpy(&tid, mad + TID_AT + 4, sizeof(tid));
	tid = be32toh(tid);
	slot = tid % WINDOW_MAX;
	if (!l->sent_at[slot] || l->tid[slot] != tid)
		return;
	if (packet->status)
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

/*
 * A short sleep lets answers gather: to be woken for each costs this process, and the one that
 * wakes it, more than the answer.
 */
static void run(struct load *l)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	while (now_us() < l->end || l->in_flight) {
		unsigned count;

		refill(l);
		count = sim_port_receive(&l->port, l->packets);
		for (unsigned i = 0; i < count; i++)
			take_answer(l, &l->packets[i]);
		if (count)
			continue;
		drop_lost(l);
		nanosleep(&nap, NULL);
	}
}

/* ---- Figures --------------------------------------------------------------------------------- */

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

/* ---- Beginning ------------------------------------------------------------------------------- */

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

int main(int argc, char **argv)
{
	struct load l = { .random = 1 };
	double seconds = argc == 3 ? atof(argv[1]) : 0;

	l.window = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	if (seconds <= 0 || !l.window || l.window > WINDOW_MAX)
		fail("usage: sa_load SECONDS WINDOW <GUIDS");
	read_guids(&l);
	if (!sim_port_open(&l.port))
		fail("no ibsim, or no such node");
	prctl(PR_SET_TIMERSLACK, 1); /* naps as short as asked for */
	l.start = now_us();
	l.end = l.start + (uint64_t)(seconds * 1e6);
	run(&l);
	print(&l, seconds);
	sim_port_close(&l.port);
	free(l.guids);
	free(l.samples);
	return 0;
}
