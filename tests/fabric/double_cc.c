/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The congestion control agent of the double's nodes (IBA annex A10; class 0x21, version 2): what a
 * congestion manager sets is kept and read back, for those that have the key. No marking is
 * simulated, and no rate is changed by it.
 *
 * A MAD is the common header, the CC_Key, 32 bytes of log, and 192 bytes of the attribute. One row
 * of a table an attribute: which nodes have it, how many of its bytes count, how many blocks there
 * are by modifier, and whether each port has its own.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define CC_KEY		   24 /* bytes of the MAD */
#define CC_DATA		   64
#define CC_DATA_SIZE	   192
#define CC_VERSION	   2
#define STATUS_BAD_VERSION 0x04
#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c
#define TABLE_BLOCKS	   2 /* of 64 entries */
#define PORTS_BLOCK	   32

enum {
	CC_CLASS_PORT_INFO = 0x0001,
	CC_INFO = 0x0011,
	CC_KEY_INFO = 0x0012,
	CC_LOG = 0x0013,
	CC_SWITCH_SETTING = 0x0014,
	CC_SWITCH_PORT_SETTING = 0x0015,
	CC_CA_SETTING = 0x0016,
	CC_TABLE = 0x0017,
	CC_TIME_STAMP = 0x0018,
};

enum { ON_SWITCHES = 1, ON_CAS = 2, ON_ALL = 3 };

static const struct cc_row {
	uint16_t attr_id;
	uint8_t nodes, size; /* size 0: only read, made at that moment */
	uint8_t blocks;
	bool of_port;
} cc_rows[] = {
	{ CC_CLASS_PORT_INFO, ON_ALL, 0, 1, false },
	{ CC_INFO, ON_ALL, 0, 1, false },
	{ CC_KEY_INFO, ON_ALL, 14, 1, false },
	{ CC_LOG, ON_ALL, 0, 1, false },
	{ CC_SWITCH_SETTING, ON_SWITCHES, 76, 1, false },
	{ CC_SWITCH_PORT_SETTING, ON_SWITCHES, 128, 8, false },
	{ CC_CA_SETTING, ON_CAS, 132, 1, true },
	{ CC_TABLE, ON_CAS, 132, TABLE_BLOCKS, true },
	{ CC_TIME_STAMP, ON_ALL, 0, 1, false },
};

/* What somebody has set. */
struct dcc {
	struct dcc *next;
	uint16_t attr_id;
	uint8_t port;
	uint32_t mod;
	uint8_t data[CC_DATA_SIZE];
};

static uint64_t get64(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static struct dcc *cc_find(const struct dnode *node, uint16_t attr_id, uint8_t port, uint32_t mod)
{
	for (struct dcc *cc = node->cc; cc; cc = cc->next)
		if (cc->attr_id == attr_id && cc->port == port && cc->mod == mod)
			return cc;
	return NULL;
}

static struct dcc *cc_get(struct dnode *node, uint16_t attr_id, uint8_t port, uint32_t mod)
{
	struct dcc *cc = cc_find(node, attr_id, port, mod);

	if (cc)
		return cc;
	cc = mem_alloc(1, sizeof(*cc));
	*cc = (struct dcc){ .next = node->cc, .attr_id = attr_id, .port = port, .mod = mod };
	node->cc = cc;
	return cc;
}

void cc_forget(struct dnode *node)
{
	struct dcc *cc;

	while ((cc = node->cc)) {
		node->cc = cc->next;
		free(cc);
	}
}

/*
 * CongestionKeyInfo: the key, bit 15 of the protection, the lease, the violations. Without the key
 * nothing is set, and with the bit nothing read.
 */
static bool key_passes(struct dnode *node, const struct wire_mad *m, const uint8_t *mad)
{
	struct dcc *info = cc_find(node, CC_KEY_INFO, 0, 0);
	uint16_t violations;

	if (!info || !get64(info->data) || get64(info->data) == get64(mad + CC_KEY))
		return true;
	if (m->method == WIRE_GET && !(info->data[8] & 0x80))
		return true;
	violations = (uint16_t)(info->data[12] << 8 | info->data[13]);
	violations += violations < UINT16_MAX;
	info->data[12] = (uint8_t)(violations >> 8);
	info->data[13] = (uint8_t)violations;
	return false;
}

static void put_made(struct double_fabric *d, const struct dnode *node, uint16_t attr_id,
		     uint8_t *data)
{
	uint32_t stamp = (uint32_t)(loop_now_us(d->loop) * 1000 / 1024);

	if (attr_id == CC_CLASS_PORT_INFO) {
		data[0] = 1;
		data[1] = CC_VERSION;
		data[7] = 8; /* RespTimeValue */
	}
	if (attr_id == CC_INFO) {
		data[0] = is_switch(node)
				  ? 0x70
				  /* threshold by port, packet size, marking rate; by QP, by SL */
				  : 0xc0;
		data[2] = is_switch(node) ? 0 : TABLE_BLOCKS;
	}
	if (attr_id == CC_LOG)
		data[0] = is_switch(node) ? 1 : 2; /* whose form it has; nothing was marked */
	for (unsigned i = 0; attr_id == CC_TIME_STAMP && i < 4; i++)
		data[i] = (uint8_t)(stamp >> (24 - 8 * i));
}

static const struct cc_row *row_find(const struct dnode *node, uint16_t attr_id)
{
	for (size_t i = 0; i < sizeof(cc_rows) / sizeof(cc_rows[0]); i++)
		if (cc_rows[i].attr_id == attr_id &&
		    cc_rows[i].nodes & (is_switch(node) ? ON_SWITCHES : ON_CAS))
			return &cc_rows[i];
	return NULL;
}

static uint16_t cc_run(struct double_fabric *d, struct dport *arrival, const struct wire_mad *m,
		       uint8_t *data)
{
	struct dnode *node = arrival->node;
	const struct cc_row *row = row_find(node, m->attr_id);
	struct dcc *held;
	uint8_t port;

	if (node->no_cc)
		return STATUS_UNSUPPORTED;
	if (m->class_version != CC_VERSION)
		return STATUS_BAD_VERSION;
	if (!row)
		return STATUS_UNSUPPORTED;
	if (m->attr_mod >= row->blocks ||
	    (row->attr_id == CC_SWITCH_PORT_SETTING && m->attr_mod * PORTS_BLOCK > node->ni.nports))
		return STATUS_BAD_FIELD;
	if (m->method == WIRE_SET && !row->size)
		return STATUS_BAD_METHOD;
	port = row->of_port ? arrival->num : 0;
	if (m->method == WIRE_SET)
		memcpy(cc_get(node, m->attr_id, port, m->attr_mod)->data, data, row->size);
	memset(data, 0, CC_DATA_SIZE);
	held = cc_find(node, m->attr_id, port, m->attr_mod);
	if (held)
		memcpy(data, held->data, row->size);
	put_made(d, node, m->attr_id, data);
	return 0;
}

bool cc_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad)
{
	uint64_t key = get64(mad + CC_KEY);
	const struct dcc *info;

	if (!key_passes(arrival->node, m, mad)) {
		d->drops.mkey++;
		return false;
	}
	m->status = cc_run(d, arrival, m, mad + CC_DATA);
	info = cc_find(arrival->node, CC_KEY_INFO, 0, 0);
	if (m->attr_id == CC_KEY_INFO && info && key != get64(info->data) && m->method == WIRE_GET)
		memset(mad + CC_DATA, 0, 8); /* is for those that know it */
	m->method = WIRE_GET_RESP;
	return true;
}

void double_set_no_cc(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->no_cc = on;
}

const uint8_t *double_cc(const struct double_fabric *d, guid_t node, unsigned port,
			 uint16_t attr_id, uint32_t mod)
{
	const struct dcc *held = cc_find(double_node(d, node), attr_id, (uint8_t)port, mod);

	return held ? held->data : NULL;
}
