/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * count_reroute: see count_own.h. A trap is a fault's first when no other came and no table was
 * written for QUIET_NS (both ends of a cable send one, and repeat it), and begins a record when a
 * table is written after it. SMPs are received and sent by one thread in the programs measured
 * here, so its own clock is what a fault costs; the kernel tells in schedstat how long it stood in
 * line for a processor besides.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "tests/bench/count_own.h"

#define QUIET_NS     500000000u
#define TRAP	     0x05
#define SET	     0x02
#define RESPONSE     0x80
#define ATTR_NOTICE  0x02
#define ATTR_LFT     0x19
#define CLASS_SA     0x03
#define SMP_DATA_AT  64 /* IBA 14.2.1 */
#define LINK_CHANGED 128

typedef int recv_fn(int port, void *umad, int *length, int timeout_ms);

static struct {
	struct reroute *record; /* NULL: nobody asked */
	recv_fn *next;
	struct reroute_moment trap; /* the newest that may be a fault's first */
	uint64_t requests, answers;
} reroute;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Two figures that matter: time on a processor, time in line for one. */
static uint64_t queued_ns(void)
{
	static __thread int fd = -1;
	char text[80] = "";
	uint64_t wait = 0;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%*u %lu", &wait);
	return wait;
}

static struct reroute_moment moment_now(void)
{
	return (struct reroute_moment){ .wall_ns = clock_ns(CLOCK_MONOTONIC),
					.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
					.wait_ns = queued_ns(),
					.requests = reroute.requests,
					.answers = reroute.answers };
}

static bool is_smp(const uint8_t *mad)
{
	return mad[1] == 0x01 || mad[1] == 0x81;
}

static void note_trap(void)
{
	struct reroute_moment now = moment_now();
	uint64_t newest = reroute.record->last.wall_ns;

	if (newest < reroute.trap.wall_ns)
		newest = reroute.trap.wall_ns;
	if (now.wall_ns - newest >= QUIET_NS)
		reroute.trap = now;
}

static void note_table(void)
{
	struct reroute *r = reroute.record;

	if (r->trap.wall_ns != reroute.trap.wall_ns)
		*r = (struct reroute){ .trap = reroute.trap };
	if (!r->trap.wall_ns)
		return; /* of no fault */
	r->last = moment_now();
	r->sets++;
}

static void note_received(const uint8_t *mad)
{
	unsigned attr = (unsigned)mad[16] << 8 | mad[17];

	reroute.requests += mad[1] == CLASS_SA && !(mad[3] & RESPONSE);
	if (is_smp(mad) && mad[3] == TRAP && attr == ATTR_NOTICE &&
	    (mad[SMP_DATA_AT + 4] << 8 | mad[SMP_DATA_AT + 5]) == LINK_CHANGED)
		note_trap();
}

void reroute_sent(const uint8_t *mad)
{
	if (!reroute.record)
		return;
	reroute.answers += mad[1] == CLASS_SA && mad[3] & RESPONSE;
	if (is_smp(mad) && mad[3] == SET && mad[17] == ATTR_LFT)
		note_table();
}

int umad_recv(int port, void *umad, int *length, int timeout_ms)
{
	int status;

	if (!reroute.next) {
		errno = ENOSYS;
		return -ENOSYS;
	}
	status = reroute.next(port, umad, length, timeout_ms);
	if (status >= 0 && reroute.record && !umad_status(umad))
		note_received(umad_get_mad(umad));
	return status;
}

void reroute_init(void)
{
	const char *path = getenv("COUNT_UMAD_REROUTE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *map = MAP_FAILED;

	reroute.next = (recv_fn *)dlsym(RTLD_NEXT, "umad_recv");
	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof(struct reroute)))
		map = mmap(NULL, sizeof(struct reroute), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	reroute.record = map == MAP_FAILED ? NULL : map;
}
