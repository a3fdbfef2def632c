/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVIDIA's GeneralInfo, MlnxExtendedPortInfo, PrivateLFTInfo and AdaptiveRoutingInfo. */
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_misbehave.h"
#include "tests/fabric/double_smp.h"
#include "tests/fabric/double_answers.h"

/*
 * Bytes of NVIDIA's MlnxExtendedPortInfo: bit 0 of each is FDR10; and what kind of special port it
 * is.
 */
#define EXT_PORT_SUPPORTED 7
#define EXT_PORT_ENABLED   11
#define EXT_PORT_ACTIVE	   15
#define EXT_PORT_SPECIAL   47

uint16_t smp_general_get(struct smp_request *r)
{
	if (!r->node->has_caps)
		return STATUS_UNSUPPORTED;
	if (r->mod != WIRE_GENERAL_CAPS)
		return STATUS_BAD_FIELD;
	memcpy(r->data, r->node->caps, WIRE_SMP_DATA);
	return 0;
}

/* FDR10 is said here alone; and that a port is an aggregation node's. */
uint16_t smp_ext_port_get(struct smp_request *r)
{
	const struct dport *port = smp_port(r);

	if (!wire_adaptive_vendor(r->node->ni.vendor))
		return STATUS_UNSUPPORTED;
	if (!port)
		return STATUS_BAD_FIELD;
	memset(r->data, 0, WIRE_SMP_DATA);
	r->data[EXT_PORT_SUPPORTED] = r->data[EXT_PORT_ENABLED] = port->speed >= TOPO_FDR10;
	r->data[EXT_PORT_ACTIVE] = port->trained == TOPO_FDR10;
	if (r->node->design->sharp)
		r->data[EXT_PORT_SPECIAL] = 0x80 | 1;
	memcpy(r->data + WIRE_SL_MASKS, port->sl_masks, sizeof(port->sl_masks));
	return 0;
}

/* Of what can be set an HCA has the masks of SLs alone. */
uint16_t smp_ext_port_set(struct smp_request *r)
{
	struct dport *port = smp_port(r);

	if (!wire_adaptive_vendor(r->node->ni.vendor) || is_switch(r->node))
		return STATUS_UNSUPPORTED;
	if (!port)
		return STATUS_BAD_FIELD;
	memcpy(port->sl_masks, r->data + WIRE_SL_MASKS, sizeof(port->sl_masks));
	return smp_ext_port_get(r);
}

/* Two ports a cage, as on a Quantum-2 switch; an adapter tells its place on the PCI bus. */
uint16_t smp_hierarchy_get(struct smp_request *r)
{
	unsigned num = r->mod & 0xff;
	struct wire_hierarchy h = { .template = WIRE_HIERARCHY_PORT };

	if (!r->node->labels || r->node->labels == DOUBLE_LABELS_REFUSED ||
	    r->node->labels == DOUBLE_MODULES)
		return STATUS_UNSUPPORTED;
	if (r->mod >> 8 || num > r->node->ni.nports || (is_switch(r->node) && !num))
		return STATUS_BAD_FIELD;
	if (is_switch(r->node)) {
		h.has = 1 << 1 | 1 << 2 | 1 << 3;
		h.value[1] = 2 - num % 2;
		h.value[2] = (num + 1) / 2;
		h.value[3] = 1;
	} else {
		h.has = 1 << 6;
		h.value[6] = 0x1000 + r->arrival->num - 1u;
	}
	wire_hierarchy_encode(&h, r->data);
	if (r->node->labels == DOUBLE_LABELS_WRONG)
		memset(r->data + 12, 0x02, 8); /* two levels are one record */
	return 0;
}

void double_set_labels(struct double_fabric *d, guid_t guid, enum double_labels labels)
{
	struct dnode *node = double_node(d, guid);
	unsigned last = is_switch(node) ? 0 : node->ni.nports;

	node->labels = (uint8_t)labels;
	for (unsigned num = is_switch(node) ? 0 : 1; num <= last; num++) {
		uint32_t mask = node->ports[num].info.capmask;

		node->ports[num].info.capmask = labels && labels != DOUBLE_MODULES
							? mask | WIRE_CAP_HIERARCHY
							: mask & ~WIRE_CAP_HIERARCHY;
	}
}

uint16_t smp_private_get(struct smp_request *r)
{
	if (!wire_has_cap(r->node->caps, WIRE_CAP_PRIVATE_LFT))
		return STATUS_UNSUPPORTED;
	memcpy(r->data, r->node->private_lft, WIRE_SMP_DATA);
	return 0;
}

uint16_t smp_private_set(struct smp_request *r)
{
	if (!wire_has_cap(r->node->caps, WIRE_CAP_PRIVATE_LFT))
		return STATUS_UNSUPPORTED;
	memcpy(r->node->private_lft, r->data, WIRE_SMP_DATA);
	return 0;
}

uint16_t smp_adaptive_get(struct smp_request *r)
{
	if (!wire_has_cap(r->node->caps, WIRE_CAP_ADAPTIVE))
		return STATUS_UNSUPPORTED;
	memcpy(r->data, r->node->adaptive, WIRE_SMP_DATA);
	return 0;
}

uint16_t smp_adaptive_set(struct smp_request *r)
{
	if (!wire_has_cap(r->node->caps, WIRE_CAP_ADAPTIVE))
		return STATUS_UNSUPPORTED;
	if (r->node->ar)
		return adaptive_take_info(r->node, r->data);
	memcpy(r->node->adaptive, r->data, WIRE_SMP_DATA);
	return 0;
}

void double_set_adaptive(struct double_fabric *d, guid_t guid, bool able, bool on)
{
	struct dnode *node = double_node(d, guid);

	memset(node->caps, 0, sizeof(node->caps));
	node->has_caps = able;
	node->caps[3] = able ? 1 << 0 | 1 << 2 : 0;
	node->private_lft[3] = on;
	node->adaptive[3] = on ? 1 << 0 | 1 << 4 : 0; /* and fast recovery */
	node->adaptive[22] = on ? 1 << 7 : 0;	      /* and hash-based forwarding */
	node->adaptive[5] = 0x5a;		      /* what is none of a manager's business */
}

void double_set_sharp(struct double_fabric *d, guid_t guid, bool is)
{
	struct dnode *node = double_node(d, guid);

	node->has_caps = true;
	memset(node->caps, 0, sizeof(node->caps));
	node->caps[1] = is ? 1 << 2 : 0;
	node->caps[2] = 1 << 1; /* something else that a CA can */
}

const uint8_t *double_adaptive(const struct double_fabric *d, guid_t guid)
{
	return double_node((struct double_fabric *)d, guid)->adaptive;
}
