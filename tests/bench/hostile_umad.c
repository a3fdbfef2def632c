/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hostile_umad: a library that stands before libfmsim-umad in a manager, and falsifies what it
 * receives; for hostile.py. Answers keep the TID of their request unless the kind says otherwise.
 *
 * HOSTILE names a file with struct hostile, by which the kind and its share of what comes are
 * chosen while the manager runs. One reader of a port at a time, as fmd has it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include <sys/mman.h>

#define KINDS  64
#define MAD    256
#define SMP_AT 64
#define GMP_AT 24
#define PAST   512 /* answers that are remembered */
#define LINE   64  /* MADs that wait to be received behind the present one */

struct hostile {
	uint32_t kind, per_mille; /* kind 0: nothing is touched */
	uint64_t state;		  /* of chance */
	uint64_t done[KINDS];
};

/* The order is that of KINDS in hostile.py, from 1. */
enum kind {
	NONE,
	/* answers with the TID of their request */
	BIT,
	BYTE,
	ZERO,
	ONES,
	NOISE,
	STATUS,
	ATTRIBUTE,
	MODIFIER,
	METHOD,
	CLASS,
	VERSION,
	BASE_VERSION,
	SHORT,
	HEADLESS,
	TWICE,
	ANOTHERS,
	HOPS,
	PATHS,
	FORGED_FIRST,
	GIVEN_BACK,
	NODE_INFO,
	NODE_GUID,
	DESCRIPTION,
	PORT_INFO,
	SWITCH_INFO,
	TABLE,
	P_KEYS,
	M_KEY,
	SM_INFO,
	COUNTERS,
	/* what nobody asked for, or no more */
	STALE,
	GUESSED,
	TRAP,
	SMP_REQUEST,
	SM_CONTROL,
	SA_NOISE,
	SA_MASKS,
	SA_RMPP,
	SA_MULTICAST,
	SA_INFORM,
	SA_SERVICE,
	REPORT_ANSWER,
	SOURCE,
	UNKNOWN_CLASS,
	LENGTHS,
};

struct waiting {
	int port, len, agent;
	uint8_t bytes[sizeof(ib_user_mad_t) + MAD];
};

static struct {
	int (*recv)(int port, void *umad, int *length, int timeout_ms);
	struct hostile *h;
	struct waiting line[LINE];
	unsigned first, count;
	uint8_t past[PAST][MAD];
	unsigned npast;
	int sa_port, sa_agent;
	uint8_t sa_header[sizeof(ib_user_mad_t)];
} own = { .sa_port = -1 };

static void begin(void)
{
	const char *path = getenv("HOSTILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory = fd < 0 ? MAP_FAILED
			      : mmap(NULL, sizeof(struct hostile), PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0);

	own.recv = (int (*)(int, void *, int *, int))dlsym(RTLD_NEXT, "umad_recv");
	if (memory != MAP_FAILED)
		own.h = memory;
	if (fd >= 0)
		close(fd);
}

static uint64_t chance(void)
{
	uint64_t x = own.h->state ? own.h->state : 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return own.h->state = x;
}

static unsigned below(unsigned bound)
{
	return (unsigned)((chance() >> 11) % bound);
}

static void noise(uint8_t *at, size_t len)
{
	while (len--)
		*at++ = (uint8_t)chance();
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static bool is_smp(const uint8_t *mad)
{
	return mad[1] == 0x01 || mad[1] == 0x81;
}

static bool is_answer(const uint8_t *mad)
{
	return mad[3] & 0x80;
}

static void line_up(int port, const void *umad, const uint8_t *mad, int len, int agent)
{
	struct waiting *w = &own.line[(own.first + own.count) % LINE];

	if (own.count == LINE)
		return;
	own.count++;
	w->port = port;
	w->agent = agent;
	w->len = len;
	memcpy(w->bytes, umad, umad_size());
	memcpy(w->bytes + umad_size(), mad, (size_t)len);
}

static bool of_attribute(const uint8_t *mad, unsigned attribute)
{
	return is_smp(mad) && get16(mad + 16) == attribute;
}

/* Noise in a part of an SMP's data; false: the MAD has another attribute. */
static bool field_noise(uint8_t *mad, unsigned attribute, unsigned from, unsigned len)
{
	unsigned at, n;

	if (!of_attribute(mad, attribute))
		return false;
	at = from + below(len);
	n = 1 + below(4);
	noise(mad + SMP_AT + at, at + n > from + len ? from + len - at : n);
	return true;
}

/* ---- Answers that are changed ---------------------------------------------------------------- */

static bool past_take(uint8_t *mad)
{
	for (unsigned tries = 0; own.npast && tries < 32; tries++) {
		const uint8_t *old = own.past[below(own.npast < PAST ? own.npast : PAST)];

		if (old[1] != mad[1] || get16(old + 16) != get16(mad + 16))
			continue;
		memcpy(mad + (is_smp(mad) ? SMP_AT : GMP_AT), old + (is_smp(mad) ? SMP_AT : GMP_AT),
		       is_smp(mad) ? 64 : MAD - GMP_AT);
		return true;
	}
	return false;
}

static bool header_change(uint8_t *mad, int *len)
{
	static const uint8_t methods[] = { 0x01, 0x02, 0x03, 0x05, 0x06,
					   0x07, 0x12, 0x92, 0x86, 0xff };

	switch (own.h->kind) {
	case STATUS:
		put16(mad + 4, (get16(mad + 4) & 0x8000) | (1 + below(0x7fff)));
		return true;
	case ATTRIBUTE:
		put16(mad + 16, below(2) ? 0x10 + below(0x24) : (unsigned)chance());
		return true;
	case MODIFIER:
		noise(mad + 20 + below(3), 1);
		mad[23] ^= (uint8_t)(1 + below(7));
		return true;
	case METHOD:
		mad[3] = methods[below(sizeof(methods))];
		return true;
	case CLASS:
		mad[1] = (uint8_t)chance();
		return true;
	case VERSION:
		mad[2] = (uint8_t)chance();
		return true;
	case BASE_VERSION:
		mad[0] = (uint8_t)chance();
		return true;
	case SHORT:
		*len = GMP_AT + (int)below(MAD - GMP_AT);
		return true;
	case HEADLESS:
		*len = (int)below(GMP_AT);
		return true;
	case HOPS:
		mad[6] = (uint8_t)chance();
		mad[7] = (uint8_t)(below(2) ? chance() : mad[7]);
		return true;
	case PATHS:
		noise(mad + 128, 128);
		return is_smp(mad);
	default:
		return false;
	}
}

static bool attribute_change(uint8_t *mad)
{
	static const char *const names[] = { "node-0001 HCA-1",
					     "node-0002 HCA-3",
					     "",
					     "leaf-su01-rail1",
					     "S0;Quantum Mngmnt:\n\x1b[31m\xff\xfe",
					     "$(reboot)`'\"\\,{}" };
	uint8_t *data = mad + SMP_AT;

	switch (own.h->kind) {
	case NODE_INFO:
		return field_noise(mad, 0x11, 0, 40);
	case NODE_GUID: /* another device's that answered */
		return of_attribute(mad, 0x11) && past_take(mad);
	case DESCRIPTION:
		if (!of_attribute(mad, 0x10))
			return false;
		memset(data, 0, 64);
		if (below(3))
			strcpy((char *)data, names[below(sizeof(names) / sizeof(names[0]))]);
		else
			noise(data, 64);
		return true;
	case PORT_INFO:
		return field_noise(mad, 0x15, 8, 56);
	case SWITCH_INFO:
		return field_noise(mad, 0x12, 0, 20);
	case TABLE:
		return field_noise(mad, 0x19, 0, 64) || field_noise(mad, 0x1b, 0, 64) ||
		       field_noise(mad, 0x17, 0, 8) || field_noise(mad, 0x18, 0, 64);
	case P_KEYS:
		return field_noise(mad, 0x16, 0, 64) || field_noise(mad, 0x14, 0, 64);
	case M_KEY:
		if (!of_attribute(mad, 0x15))
			return false;
		noise(data, 8);
		data[51] = (uint8_t)(data[51] ^ (1 + below(3)) << 6); /* M_KeyProtectBits */
		return true;
	case SM_INFO: /* a master of the highest priority */
		if (!of_attribute(mad, 0x20))
			return false;
		noise(data, 20);
		data[20] = (uint8_t)(0xf0 | below(5));
		return true;
	case COUNTERS:
		if (mad[1] != 0x04)
			return false;
		noise(mad + 64 + below(120), 1 + below(40));
		return true;
	default:
		return false;
	}
}

/* True: this answer, or one beside it, is falsified now. */
static bool answer_change(int port, void *umad, uint8_t *mad, int *len, int agent)
{
	unsigned from = is_smp(mad) ? SMP_AT : GMP_AT, size = is_smp(mad) ? 64 : MAD - GMP_AT;
	uint8_t real[MAD];

	switch (own.h->kind) {
	case BIT:
		mad[from + below(size)] ^= (uint8_t)(1u << below(8));
		return true;
	case BYTE:
		noise(mad + from + below(size), 1);
		return true;
	case ZERO:
		memset(mad + from, 0, size);
		return true;
	case ONES:
		memset(mad + from, 0xff, size);
		return true;
	case NOISE:
		noise(mad + from, size);
		return true;
	case TWICE:
		for (unsigned n = 1 + below(3); n; n--)
			line_up(port, umad, mad, *len, agent);
		return true;
	case ANOTHERS:
		return past_take(mad);
	case FORGED_FIRST:
		memcpy(real, mad, MAD);
		noise(mad + from + below(size / 2), size / 2);
		line_up(port, umad, real, *len, agent);
		return true;
	case GIVEN_BACK:
		((ib_user_mad_t *)umad)->status = ETIMEDOUT;
		return true;
	default:
		return header_change(mad, len) || attribute_change(mad);
	}
}

/* ---- What nobody asked for ------------------------------------------------------------------- */

static void head(uint8_t *mad, uint8_t class, uint8_t version, uint8_t method, unsigned attribute)
{
	memset(mad, 0, MAD);
	mad[0] = 1;
	mad[1] = class;
	mad[2] = version;
	mad[3] = method;
	noise(mad + 8, 8);
	put16(mad + 16, attribute);
}

static void trap_make(uint8_t *mad)
{
	static const uint16_t numbers[] = { 64,	 65,  66,  67,	128, 129, 130, 131,
					    144, 145, 256, 257, 258, 259, 1144 };

	head(mad, below(4) ? 0x01 : 0x81, 1, below(8) ? 0x05 : 0x07, 0x02);
	noise(mad + SMP_AT, 64);
	mad[SMP_AT] = (uint8_t)(below(2) ? 0x80 | below(5) : chance());
	put16(mad + SMP_AT + 4, below(8) ? numbers[below(15)] : (unsigned)chance());
	put16(mad + SMP_AT + 6, 1 + below(600));
	if (below(2))
		put16(mad + SMP_AT + 10, 1 + below(600));
}

static void smp_make(uint8_t *mad)
{
	static const uint8_t methods[] = { 0x01, 0x02, 0x03, 0x06, 0x81, 0x0c };

	head(mad, below(2) ? 0x01 : 0x81, 1, methods[below(6)],
	     below(2) ? 0x10 + below(0x24) : (unsigned)chance());
	noise(mad + 20, 4);
	noise(mad + 24, MAD - 24);
	if (below(2))
		put16(mad + 16, 0x20);
}

static void sm_control_make(uint8_t *mad)
{
	head(mad, 0x01, 1, below(4) ? 0x02 : 0x01, 0x20);
	mad[23] = (uint8_t)below(8);
	noise(mad + SMP_AT, 20);
	memset(mad + SMP_AT + 8, 0, 8);
	mad[SMP_AT + 15] = (uint8_t)below(2);
	mad[SMP_AT + 20] = (uint8_t)chance();
}

static void sa_make(uint8_t *mad)
{
	static const uint16_t attributes[] = { 0x11, 0x12, 0x13, 0x14, 0x15,   0x16,  0x17,
					       0x18, 0x19, 0x20, 0x30, 0x31,   0x33,  0x35,
					       0x36, 0x38, 0x39, 0x3a, 0x3b,   0x3c,  0x01,
					       0x02, 0x03, 0xf3, 0xf4, 0xff3d, 0xff40 };
	static const uint8_t methods[] = { 0x01, 0x02, 0x12, 0x13, 0x14, 0x15, 0x05, 0x06, 0x07 };
	unsigned attribute = attributes[below(sizeof(attributes) / 2)];

	switch (own.h->kind) {
	case SA_MULTICAST:
		attribute = 0x38;
		break;
	case SA_INFORM:
		attribute = below(2) ? 0x03 : 0xf3;
		break;
	case SA_SERVICE:
		attribute = 0x31;
		break;
	default:
		break;
	}
	head(mad, 0x03, 2, methods[below(sizeof(methods))], attribute);
	if (own.h->kind == SA_RMPP) {
		noise(mad + 24, 12);
		mad[24] = (uint8_t)below(3);
		mad[25] = (uint8_t)(1 + below(5));
	}
	if (own.h->kind == SA_NOISE) {
		noise(mad + 2 + below(20), 1 + below(10));
		noise(mad + 36, MAD - 36);
		mad[1] = 0x03;
		return;
	}
	if (!below(4))
		noise(mad + 36, 8); /* SM_Key */
	noise(mad + 48, 8);
	if (own.h->kind != SA_MASKS && below(2))
		memset(mad + 48, 0, 6);
	noise(mad + 56, MAD - 56);
	if (own.h->kind == SA_MULTICAST && below(2)) {
		static const uint8_t mgid[8] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0 };

		memcpy(mad + 56, mgid, 8);
		memset(mad + 64, 0, 7);
		mad[71] = (uint8_t)below(40);
	}
	if (own.h->kind == SA_INFORM && below(2))
		memset(mad + 56, 0, 24);
}

static void sa_send(const uint8_t *mad, int len)
{
	uint8_t umad[sizeof(ib_user_mad_t)];
	ib_mad_addr_t *addr = &((ib_user_mad_t *)umad)->addr;

	if (own.sa_port < 0)
		return;
	memcpy(umad, own.sa_header, umad_size());
	if (own.h->kind == SOURCE || !below(4)) {
		noise((uint8_t *)addr, sizeof(*addr));
		addr->grh_present = (uint8_t)below(2);
	} else {
		put16((uint8_t *)&addr->lid, 1 + below(600));
	}
	line_up(own.sa_port, umad, mad, len, own.sa_agent);
}

/* Behind the MAD that is received at `port` now. */
static bool unasked(int port, const void *umad, const uint8_t *mad, int agent)
{
	uint8_t made[MAD];

	switch (own.h->kind) {
	case STALE:
		if (!own.npast)
			return false;
		line_up(port, umad, own.past[below(own.npast < PAST ? own.npast : PAST)], MAD,
			agent);
		return true;
	case GUESSED: /* the TIDs next to a true one */
		memcpy(made, mad, MAD);
		made[15] = (uint8_t)(made[15] + below(9) - 4);
		noise(made + 64, 64);
		line_up(port, umad, made, MAD, agent);
		return is_answer(mad);
	case TRAP:
		trap_make(made);
		break;
	case SMP_REQUEST:
		smp_make(made);
		break;
	case SM_CONTROL:
		sm_control_make(made);
		break;
	case UNKNOWN_CLASS:
		noise(made, MAD);
		made[0] = 1;
		break;
	case LENGTHS:
		noise(made, MAD);
		made[0] = 1;
		made[1] = (uint8_t)(below(2) ? 0x01 : 0x81);
		line_up(port, umad, made, (int)below(MAD), agent);
		sa_make(made);
		sa_send(made, (int)below(MAD));
		return true;
	case REPORT_ANSWER:
		head(made, 0x03, 2, below(2) ? 0x86 : 0x81, below(2) ? 0x02 : 0x11);
		noise(made + 24, MAD - 24);
		sa_send(made, MAD);
		return true;
	case SA_NOISE:
	case SA_MASKS:
	case SA_RMPP:
	case SA_MULTICAST:
	case SA_INFORM:
	case SA_SERVICE:
	case SOURCE:
		sa_make(made);
		sa_send(made, MAD);
		return true;
	default:
		return false;
	}
	if (is_smp(mad))
		line_up(port, umad, made, MAD, agent);
	return is_smp(mad);
}

/* ---- libibumad's ----------------------------------------------------------------------------- */

static void remember(int port, const void *umad, const uint8_t *mad, int agent)
{
	if (is_answer(mad))
		memcpy(own.past[own.npast++ % PAST], mad, MAD);
	if (mad[1] != 0x03 || is_answer(mad))
		return;
	own.sa_port = port;
	own.sa_agent = agent;
	memcpy(own.sa_header, umad, umad_size());
}

static int next_in_line(int port, void *umad, int *length)
{
	struct waiting *w = &own.line[own.first];
	int len = w->len;

	if (!own.count || w->port != port || *length < len)
		return -1;
	memcpy(umad, w->bytes, umad_size() + (size_t)len);
	own.first = (own.first + 1) % LINE;
	own.count--;
	*length = len;
	errno = 0;
	return w->agent;
}

__attribute__((visibility("default"))) int umad_recv(int portid, void *umad, int *length,
						     int timeout_ms)
{
	int agent, len;
	uint8_t *mad;

	if (!own.recv)
		begin();
	agent = own.h ? next_in_line(portid, umad, length) : -1;
	if (agent >= 0)
		return agent;
	agent = own.recv(portid, umad, length, timeout_ms);
	if (agent < 0 || !own.h || *length != MAD || ((ib_user_mad_t *)umad)->status)
		return agent;
	mad = umad_get_mad(umad);
	remember(portid, umad, mad, agent);
	if (!own.h->kind || own.h->kind >= KINDS || below(1000) >= own.h->per_mille)
		return agent;
	len = *length;
	if ((is_answer(mad) && answer_change(portid, umad, mad, &len, agent)) ||
	    unasked(portid, umad, mad, agent))
		__atomic_fetch_add(&own.h->done[own.h->kind], 1, __ATOMIC_RELAXED);
	*length = len;
	return agent;
}
