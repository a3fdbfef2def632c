/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * count_umad: a library to preload that counts what a program sends by libibumad.
 *
 * It stands in front of umad_send(), where every subnet manager on libibumad passes, so that
 * packets of different ones are counted at the same point by the same rule: one for each call that
 * was accepted, retries of the program's own included. The counts live in a file mapped into
 * memory (COUNT_UMAD_FILE): they are there at any moment for whoever reads it, also when the
 * program is killed.
 *
 * COUNT_UMAD_ANSWERS names a file that all answers of the SA are appended to, whole, each behind
 * its length (32 bits): a simulator cuts them after one MAD. COUNT_UMAD_REROUTE is told of in
 * count_own.h.
 *
 * The file is an array of `struct counter` in the machine's byte order (tests/bench/world.py reads
 * it). A slot is claimed by its key, once, and never given back; threads may send at the same time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "tests/bench/count_own.h"

#define COUNTERS 512
#define CLAIMED	 (1u << 31) /* so that no key is 0 */

struct counter {
	_Atomic uint32_t key; /* CLAIMED | class (see key_of) << 24 | method << 16 | attribute */
	uint32_t unused;
	_Atomic uint64_t sent;
	_Atomic uint64_t last_ns; /* CLOCK_REALTIME of the last one */
};

typedef int send_fn(int port, int agent, void *umad, int length, int timeout_ms, int retries);

static struct {
	struct counter *counters; /* NULL: nobody asked */
	int answers;		  /* likewise -1 */
	send_fn *next;
} shim;

static struct counter *counters_map(const char *path)
{
	size_t size = COUNTERS * sizeof(struct counter);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, (off_t)size))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static void __attribute__((constructor)) count_umad_init(void)
{
	const char *path = getenv("COUNT_UMAD_FILE");

	shim.answers = -1;
	if (getenv("COUNT_UMAD_ANSWERS"))
		shim.answers = open(getenv("COUNT_UMAD_ANSWERS"),
				    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	shim.next = (send_fn *)dlsym(RTLD_NEXT, "umad_send");
	shim.counters = path ? counters_map(path) : NULL;
	reroute_init();
}

/*
 * Bytes of the common MAD header (IBA 13.4.2): 1 = class, 3 = method, 16 and 17 = attribute. The
 * classes met here leave bit 6 alone; bit 7, set in that of directed SMPs, moves there.
 */
static uint32_t key_of(const uint8_t *mad)
{
	uint32_t mgmt_class = (mad[1] & 0x3fu) | (mad[1] & 0x80u) >> 1;

	return CLAIMED | mgmt_class << 24 | (uint32_t)mad[3] << 16 | (uint32_t)mad[16] << 8 |
	       mad[17];
}

/*
 * A directed SMP without a hop ends at the port it is sent from (IBA 14.2.2.2): it is never on the
 * wire.
 */
static bool is_local(const uint8_t *mad)
{
	return mad[1] == 0x81 && !mad[7];
}

static struct counter *counter_of(uint32_t key)
{
	for (uint32_t i = 0; i < COUNTERS; i++) {
		struct counter *c = &shim.counters[(key * 2654435761u + i) % COUNTERS];
		uint32_t found = 0;

		if (atomic_compare_exchange_strong(&c->key, &found, key) || found == key)
			return c;
	}
	return NULL;
}

static void count(uint32_t key)
{
	struct counter *c = counter_of(key);
	struct timespec now;

	if (!c)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	atomic_fetch_add_explicit(&c->sent, 1, memory_order_relaxed);
	atomic_store_explicit(&c->last_ns,
			      (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
			      memory_order_relaxed);
}

static void note_answer(const uint8_t *mad, int length)
{
	uint32_t size = (uint32_t)length;
	struct iovec parts[] = { { &size, sizeof(size) }, { (void *)mad, size } };

	if (mad[1] == 0x03 && mad[3] & 0x80 && writev(shim.answers, parts, 2) < 0)
		abort();
}

int umad_send(int port, int agent, void *umad, int length, int timeout_ms, int retries)
{
	/* Before it is sent: the answer may come at once, and another thread free it. */
	uint32_t key = key_of(umad_get_mad(umad));
	bool local = is_local(umad_get_mad(umad));
	int status;

	if (!shim.next) {
		errno = ENOSYS;
		return -1;
	}
	if (shim.answers >= 0)
		note_answer(umad_get_mad(umad), length);
	reroute_sent(umad_get_mad(umad));
	status = shim.next(port, agent, umad, length, timeout_ms, retries);
	if (!status && shim.counters && !local)
		count(key);
	return status;
}
