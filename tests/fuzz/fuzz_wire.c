/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as an attribute and as a MAD that arrives.
 *
 * What a decoder made of them is encoded and decoded again, and must then encode to the same bytes:
 * nothing is made up, nothing depends on reserved bits. As a MAD they reach the receive path while
 * requests are out: each of these ends once, whatever came. The first two bytes choose whose TID
 * and whether method and attribute are those of an answer, so that the path behind the matching is
 * reached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/mad.h"
#include "fm/mad/wire_optional.h"
#include "fm/mad/wire_registers.h"
#include "tests/fabric/double_answers.h"

#define REQUESTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Attributes ------------------------------------------------------------------------------ */

#define ROUND_TRIP(kind, type)                                                                     \
	static void kind##_round_trip(const uint8_t *data)                                         \
	{                                                                                          \
		type value;                                                                        \
		uint8_t once[WIRE_GMP_DATA] = { 0 }, twice[WIRE_GMP_DATA] = { 0 };                 \
                                                                                                   \
		memset(&value, 0, sizeof(value));                                                  \
		wire_##kind##_decode(data, &value);                                                \
		wire_##kind##_encode(&value, once);                                                \
		wire_##kind##_decode(once, &value);                                                \
		wire_##kind##_encode(&value, twice);                                               \
		assert(!memcmp(once, twice, sizeof(once)));                                        \
	}

ROUND_TRIP(node_info, struct wire_node_info)
ROUND_TRIP(port_info, struct wire_port_info)
ROUND_TRIP(switch_info, struct wire_switch_info)
ROUND_TRIP(sm_info, struct wire_sm_info)
ROUND_TRIP(notice, struct wire_notice)
ROUND_TRIP(port_ext, struct wire_port_ext)
ROUND_TRIP(down, struct wire_down)
ROUND_TRIP(module, struct wire_module)
ROUND_TRIP(ber, struct wire_ber)
ROUND_TRIP(device, struct wire_device)

/* As the data of an answer of class 0x0A. */
static void registers(const uint8_t *from)
{
	uint64_t bins[WIRE_HISTOGRAM_BINS], sum = 0;
	uint8_t data[WIRE_GMP_DATA], port, number;
	struct wire_module module;
	struct wire_device device;
	struct wire_ber ber;
	char text[32], label[40];

	memcpy(data, from, sizeof(data));
	wire_registers_able(data);
	wire_register_about(WIRE_REGISTER_PDDR, data, &port, &number);
	wire_register_about(WIRE_REGISTER_PPCNT, data, &port, &number);
	assert(number < 64);
	down_round_trip(wire_register_page(data));
	module_round_trip(wire_register_page(data));
	ber_round_trip(wire_register_page(data));
	device_round_trip(data + WIRE_VENDOR_INFO_OFFSET);
	wire_module_decode(wire_register_page(data), &module);
	if (wire_module_is_sound(&module))
		wire_module_text(module.serial, text);
	wire_ber_decode(wire_register_page(data), &ber);
	assert(!wire_ber_is_sound(&ber) || ber.effective_errors <= ber.bits);
	wire_device_decode(data + WIRE_VENDOR_INFO_OFFSET, &device);
	if (wire_device_is_sound(&device)) {
		wire_device_firmware(&device, text);
		assert(strlen(text) >= 8);
	}
	if (wire_histogram_decode(wire_register_page(data), bins))
		for (unsigned i = 0; i < WIRE_HISTOGRAM_BINS; i++)
			assert((sum += bins[i]) >= bins[i]);
	assert(wire_planes(data) <= WIRE_PLANES_MOST && wire_ib_port(data) < 1024);
	assert(!wire_cage(data, label) || strstr(label, "cage "));
}

static void attributes(const uint8_t data[64])
{
	struct wire_port_info info;
	uint8_t back[64];
	char text[65];

	node_info_round_trip(data);
	port_info_round_trip(data);
	switch_info_round_trip(data);
	sm_info_round_trip(data);
	notice_round_trip(data);
	port_ext_round_trip(data);
	wire_port_info_decode(data, &info);
	assert(wire_port_info_speed(&info) <= TOPO_XDR);
	assert(wire_port_info_lanes(&info) <= 12);
	wire_node_desc_decode(data, text);
	assert(strlen(text) <= 64);
	wire_node_desc_encode(text, back);
}

/* ---- The receive path ------------------------------------------------------------------------ */

struct sink {
	struct io io;
	uint64_t tids[REQUESTS];
	unsigned sent;
};

static int sink_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		     unsigned timeout_ms)
{
	struct sink *sink = (struct sink *)io;
	struct wire_mad m;

	if (!wire_mad_decode(mad, len, &m) && sink->sent < REQUESTS)
		sink->tids[sink->sent++] = m.tid;
	return 0;
}

static int sink_set_is_sm(struct io *io, bool on)
{
	return 0;
}

static void sink_free(struct io *io)
{
}

static const struct io_ops sink_ops = { .send = sink_send,
					.set_is_sm = sink_set_is_sm,
					.free = sink_free };

/* Reads every byte, so that the sanitizer sees one that is not there. */
static unsigned bytes_read(const uint8_t *bytes, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += bytes[i];
	return sum;
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	unsigned *calls = arg;

	++*calls;
	if (answer->data)
		assert(bytes_read(answer->data, WIRE_SMP_DATA) <= WIRE_SMP_DATA * 255);
}

static void handler_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		       const uint8_t *raw, size_t len)
{
	assert(bytes_read(raw, len) <= len * 255);
	assert(mad->hop_count <= WIRE_MAX_HOPS && mad->hop_ptr <= WIRE_MAX_HOPS + 1);
}

/* Lays the header of an answer over the bytes, so far as `shape` says. */
static void shape_answer(uint8_t *mad, size_t size, uint64_t tid, uint8_t shape)
{
	struct wire_mad m;

	if (size < WIRE_MAD_SIZE || !(shape & 1) || wire_mad_decode(mad, size, &m))
		return;
	m.tid = tid;
	if (shape & 2)
		m.method = WIRE_GET_RESP;
	if (shape & 4)
		m.mgmt_class = WIRE_SMI_DR;
	if (shape & 8)
		m.attr_id = WIRE_NODE_INFO;
	if (shape & 16)
		m.attr_mod = 0;
	if (shape & 32)
		m.returning = true;
	m.hop_count &= 63;
	m.hop_ptr &= 63;
	wire_mad_encode(&m, mad);
}

static void receive(const uint8_t *data, size_t size)
{
	const struct mad_conf conf = { .retries = 1 };
	const struct mad_path path = { .hops = 1, .ports = { 1 } };
	const struct mad_request r = { .path = &path,
				       .method = WIRE_GET,
				       .attr_id = WIRE_NODE_INFO };
	const struct io_addr from = { .lid = 1 };
	struct loop *loop = loop_new_simulated();
	struct sink sink = { .io = { .ops = &sink_ops } };
	struct mad *mad = mad_new(loop, &sink.io, &conf);
	unsigned calls[REQUESTS] = { 0 };
	uint8_t *copy =
		malloc(size - 2 ? size - 2 : 1); /* exact: the sanitizer sees a step too far */

	memcpy(copy, data + 2, size - 2);
	for (unsigned c = 0; c < 256; c++)
		mad_handle(mad, (uint8_t)c, handler_cb, NULL);
	for (unsigned i = 0; i < REQUESTS; i++)
		mad_send(mad, &r, done_cb, &calls[i]);
	shape_answer(copy, size - 2, sink.tids[data[0] % REQUESTS], data[1]);
	sink.io.recv(sink.io.arg, &from, copy, size - 2);
	sink.io.recv(sink.io.arg, &from, copy, size - 2);
	loop_run(loop);
	for (unsigned i = 0; i < REQUESTS; i++)
		assert(calls[i] == 1);
	mad_free(mad);
	loop_free(loop);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (size >= 66)
		attributes(data + 2);
	if (size >= 2 + WIRE_GMP_DATA)
		registers(data + 2);
	receive(data, size);
	return 0;
}
