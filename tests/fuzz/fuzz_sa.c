/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any MADs at the SA of a small fabric: each input is a sequence of requests, of which the fuzzer
 * chooses method, attribute, modifier, mask, key and components. Never more than one answer to a
 * request; what is answered is a response of its class, whole rows long. Beside answers there are
 * Reports alone: to who subscribed in an earlier request, of what this one changes.
 */
#include "fm/loop/log.h"
#include "tests/lib/sa_world.h"

#define REQUEST 160 /* bytes of input for one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint16_t attrs[] = {
	WIRE_SA_CLASS_PORT_INFO,
	WIRE_SA_INFORM_INFO,
	WIRE_SA_NODE,
	WIRE_SA_PORT_INFO,
	WIRE_SA_SWITCH_INFO,
	WIRE_SA_LFT,
	WIRE_SA_MFT,
	WIRE_SA_SM_INFO,
	WIRE_SA_LINK,
	WIRE_SA_GUID_INFO,
	WIRE_SA_PKEY,
	WIRE_SA_PATH,
	WIRE_SA_PATH,
	WIRE_SA_INFORM_INFO_RECORD,
	WIRE_SA_MCMEMBER,
	WIRE_SA_SERVICE,
	WIRE_SA_MULTI_PATH,
	WIRE_SA_SL2VL,
	WIRE_SA_VL_ARB,
};

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static void check_report(const struct world *w)
{
	assert(w->sent_len == WIRE_MAD_SIZE && w->sent[1] == WIRE_SA &&
	       number(w->sent + 16, 2) == WIRE_NOTICE);
}

static void check_answer(const struct world *w)
{
	size_t row = (size_t)number(w->sent + 44, 2) * 8;

	assert(w->sent_len >= WIRE_SA_HEADER && w->sent[1] == WIRE_SA && w->sent[3] & 0x80);
	for (unsigned i = 36; i < 44; i++)
		assert(w->sent[i] == 0); /* SM_Key */
	if (w->sent[26] & 1 && row)
		assert((w->sent_len - WIRE_SA_HEADER) % row == 0);
	else if (!(w->sent[26] & 1))
		assert(w->sent_len == WIRE_MAD_SIZE);
}

static unsigned answers; /* to the request that is being asked */

static void check_sent(struct world *w, const struct io_addr *to, const uint8_t *mad)
{
	if (mad[3] == WIRE_REPORT) {
		check_report(w);
		return;
	}
	answers++;
	check_answer(w);
}

/* First byte: what is as the protocol wants it, and what is the fuzzer's. */
static void request_one(struct world *w, const uint8_t in[REQUEST])
{
	static const uint8_t methods[] = { WIRE_GET, WIRE_GET_TABLE, WIRE_SET, WIRE_DELETE,
					   WIRE_GET_MULTI };
	struct world_request r = {
		.method = in[0] & 1 ? in[1] : methods[in[1] % sizeof(methods)],
		.attr = in[0] & 2 ? (uint16_t)number(in + 2, 2)
				  : attrs[in[3] % (sizeof(attrs) / sizeof(attrs[0]))],
		.mod = (uint32_t)number(in + 4, 4),
		.mask = number(in + 8, 8),
		.sm_key = in[0] & 4   ? number(in + 16, 8)
			  : in[0] & 8 ? WORLD_SM_KEY
				      : 0,
		.from = in[0] & 16 ? (uint16_t)number(in + 24, 2) : 0,
		.cut = in[0] & 32 ? 1 + in[26] : 0,
		.data = in + 32,
		.len = REQUEST - 32,
	};

	answers = 0;
	world_ask(w, &r);
	assert(answers <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world *w;
	uint8_t in[REQUEST];

	if (!w) {
		log_set_level(-1, LOG_ERR);
		w = world_new();
		w->hook = check_sent;
		world_publish(w);
	}
	while (size) {
		size_t taken = size < REQUEST ? size : REQUEST;

		memset(in, 0, sizeof(in));
		memcpy(in, data, taken);
		request_one(w, in);
		data += taken;
		size -= taken;
	}
	return 0;
}
