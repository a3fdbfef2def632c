/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Many hosts of a simulated fabric that ask the SA as Linux does, in one process. It is compiled by
 * the tests that use it, and preloads fmsim's library.
 *
 *   linux_hosts SECONDS RATE TIMEOUT_MS <HOSTS
 *
 * HOSTS: `NODE GUID` a line, the node and the GUID of its first port. Each asks RATE times a
 * second: six in ten for a path to another one (cma.c), two in ten join a multicast group of their
 * own (ipoib_multicast.c), two in ten register a service.
 *
 * A query goes to the SM LID that its port has when it begins (sa_query.c: the address handle is of
 * the latest event). The MAD layer repeats it ten times, each TIMEOUT_MS / 10 later, to the same
 * LID. The first answer ends it, whatever its status.
 *
 * Prints `ready`, and at its end one JSON object: of each kind how many were asked and answered;
 * how late the middle one, 99 of a hundred and the slowest were answered; of those that failed when
 * they were asked (seconds since `ready`), from which node, of which LID, and the status, "silence"
 * for none.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/umad.h>

#define SA_CLASS   3
#define MAD_SIZE   256
#define HEADER	   56
#define MASK_AT	   48
#define STATUS_AT  4
#define TID_AT	   8
#define QP1_QKEY   0x80010000
#define IPOIB_QKEY 0xb1b
#define RETRIES	   10
#define PREFIX	   0xfe80000000000000ull
#define SLOTS	   65536

enum kind { PATH, JOIN, SERVICE, KINDS };
static const char *const names[KINDS] = { "paths", "joins", "services" };

struct host {
	char node[64];
	uint64_t guid, due_us;
	int port, agent;
};

struct query {
	struct host *host; /* NULL = the slot is free */
	enum kind kind;
	unsigned sm_lid;
	uint64_t begun_us;
};

static struct host *hosts;
static unsigned nhosts, next_slot, open_queries, asked[KINDS], answered[KINDS];
static struct query queries[SLOTS];
static uint64_t start_us;
static uint32_t *took; /* of each that was answered, in us */
static size_t ntook;
static char *failed;
static size_t failed_len;
static FILE *failures;

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "linux_hosts: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

static void put(uint8_t **at, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*(*at)++ = (uint8_t)(value >> 8 * bytes);
}

/* The record, and its component mask. */
static uint64_t record_fill(const struct host *host, enum kind kind, uint8_t *at)
{
	switch (kind) {
	case PATH: /* DGID, SGID, reversible, NumbPath, P_Key, as rdma_cm asks */
		at += 8;
		put(&at, PREFIX, 8);
		put(&at, hosts[(unsigned)rand() % nhosts].guid, 8);
		put(&at, PREFIX, 8);
		put(&at, host->guid, 8);
		at += 8;
		put(&at, 0, 1);
		put(&at, 0x81, 1);
		put(&at, 0xffff, 2);
		return 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12 | 1 << 13;
	case JOIN: /* a group of its own, as IPv6's solicited-node groups are: made with the join */
		put(&at, 0xff12601bffff0000, 8);
		put(&at, 0x00000001ff000000 | (host->guid >> 8 & 0xffffff), 8);
		put(&at, PREFIX, 8);
		put(&at, host->guid, 8);
		put(&at, IPOIB_QKEY, 4);
		put(&at, 0, 2);
		put(&at, 0x84, 1); /* MTU 2,048 */
		put(&at, 0, 1);
		put(&at, 0xffff, 2);
		put(&at, 0x83, 1); /* 10 Gb/s */
		put(&at, 0, 1);
		put(&at, 0, 4);
		put(&at, 0x21, 1); /* link-local, full member */
		return 0x130c7;
	default:
		put(&at, host->guid, 8);
		put(&at, PREFIX, 8);
		put(&at, host->guid, 8);
		put(&at, 0xffff, 2);
		put(&at, 0, 2);
		put(&at, 0xffffffff, 4);
		at += 16;
		memcpy(at, host->node, strlen(host->node));
		return 0x57;
	}
}

static void query_begin(struct host *host, unsigned timeout_ms)
{
	static const uint16_t attributes[KINDS] = { 0x35, 0x38, 0x31 };
	unsigned dice = (unsigned)rand() % 10, slot = next_slot++ % SLOTS;
	enum kind kind = dice < 6 ? PATH : dice < 8 ? JOIN : SERVICE;
	struct query *q = &queries[slot];
	uint8_t *buffer = calloc(1, umad_size() + MAD_SIZE), *mad = umad_get_mad(buffer), *at = mad;
	umad_port_t info;
	uint64_t mask;

	setenv("FMSIM_NODE", host->node, 1);
	if (q->host || umad_get_port(NULL, 1, &info))
		fail("no place, or no port", host->node);
	*q = (struct query){ host, kind, info.sm_lid, now_us() };
	umad_release_port(&info);
	put(&at, 0x01030200 | (kind == PATH ? 1 : 2), 4);
	at = mad + TID_AT + 4;
	put(&at, slot + 1, 4);
	put(&at, attributes[kind], 2);
	mask = htobe64(record_fill(host, kind, mad + HEADER));
	memcpy(mad + MASK_AT, &mask, sizeof(mask));
	umad_set_addr(buffer, (int)q->sm_lid, 1, 0, (int)QP1_QKEY);
	if (umad_send(host->port, host->agent, buffer, MAD_SIZE, (int)timeout_ms / RETRIES,
		      RETRIES))
		fail("cannot send at", host->node);
	asked[kind]++;
	open_queries++;
	free(buffer);
}

static void query_end(struct query *q, unsigned status, bool silent)
{
	uint64_t took_us = now_us() - q->begun_us;
	char text[16] = "silence";

	open_queries--;
	if (!silent)
		snprintf(text, sizeof(text), "0x%04x", status);
	if (!silent && !status) {
		answered[q->kind]++;
		if (!(ntook & (ntook + 1)))
			took = realloc(took, 2 * (ntook + 1) * sizeof(*took));
		took[ntook++] = (uint32_t)took_us;
	} else {
		fprintf(failures, "%s[\"%s\", %.3f, \"%s\", %u, \"%s\"]",
			ftell(failures) ? ", " : "", names[q->kind],
			(double)(q->begun_us - start_us) / 1e6, q->host->node, q->sm_lid, text);
	}
	q->host = NULL;
}

static void receive(struct host *host)
{
	static uint8_t buffer[4096];
	int length = MAD_SIZE;

	while (umad_recv(host->port, buffer, &length, 0) >= 0) {
		const uint8_t *mad = umad_get_mad(buffer);
		uint32_t tid;

		memcpy(&tid, mad + TID_AT + 4, sizeof(tid));
		tid = be32toh(tid) - 1;
		if (tid < SLOTS && queries[tid].host == host)
			query_end(&queries[tid], (unsigned)mad[STATUS_AT] << 8 | mad[STATUS_AT + 1],
				  umad_status(buffer));
		length = MAD_SIZE;
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double took_ms(double part)
{
	return ntook ? took[(size_t)((double)(ntook - 1) * part)] / 1e3 : 0;
}

static void hosts_open(void)
{
	struct host host = { .port = -1 };

	while (scanf("%63s %" SCNx64, host.node, &host.guid) == 2) {
		setenv("FMSIM_NODE", host.node, 1);
		host.port = umad_open_port(NULL, 1);
		host.agent = host.port < 0 ? -1 : umad_register(host.port, SA_CLASS, 2, 0, NULL);
		if (host.agent < 0)
			fail("cannot open the port of", host.node);
		hosts = realloc(hosts, (nhosts + 1) * sizeof(*hosts));
		hosts[nhosts++] = host;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 4 ? atof(argv[1]) : 0, rate = argc == 4 ? atof(argv[2]) : 0;
	unsigned timeout_ms = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
	struct pollfd *waits;

	if (seconds <= 0 || rate <= 0 || timeout_ms < RETRIES || umad_init() < 0)
		fail("usage:", "linux_hosts SECONDS RATE TIMEOUT_MS <HOSTS");
	hosts_open();
	waits = calloc(nhosts, sizeof(*waits));
	failures = open_memstream(&failed, &failed_len);
	start_us = now_us();
	for (unsigned i = 0; i < nhosts; i++) {
		hosts[i].due_us = start_us + (uint64_t)(1e6 / rate * i / nhosts);
		waits[i] = (struct pollfd){ umad_get_fd(hosts[i].port), POLLIN, 0 };
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		uint64_t now = now_us();
		bool over = now > start_us + (uint64_t)(seconds * 1e6);

		if (over && !open_queries)
			break;
		for (unsigned i = 0; i < nhosts && !over; i++)
			if (hosts[i].due_us <= now) {
				query_begin(&hosts[i], timeout_ms);
				hosts[i].due_us += (uint64_t)(1e6 / rate);
			}
		poll(waits, nhosts, 2);
		for (unsigned i = 0; i < nhosts; i++)
			receive(&hosts[i]);
	}
	fclose(failures);
	for (enum kind kind = 0; kind < KINDS; kind++)
		printf("%s\"%s\": [%u, %u]", kind ? ", " : "{", names[kind], asked[kind],
		       answered[kind]);
	qsort(took, ntook, sizeof(*took), compare);
	printf(", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"slowest_ms\": %.1f, \"failed\": [%s]}\n",
	       took_ms(0.5), took_ms(0.99), took_ms(1), failed);
	return 0;
}
