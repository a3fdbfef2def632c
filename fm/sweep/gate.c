/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* gate: links that nobody knew go by what the gate's owner says (sweep_set_gate). */
#include "fm/inventory/inv_node.h"
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

void sweep_set_gate(struct sweep *s, sweep_gate_fn *fn, void *arg)
{
	struct gate *gate = s->parking.gate;

	if (gate)
		free(gate->list);
	free(gate);
	s->parking.gate = NULL;
	if (!fn)
		return;
	s->parking.gate = gate = mem_new(gate);
	gate->fn = fn;
	gate->arg = arg;
}

static struct gated *find(const struct gate *gate, guid_t from, uint8_t num)
{
	for (unsigned i = 0; i < gate->count; i++)
		if (gate->list[i].from == from && gate->list[i].num == num)
			return &gate->list[i];
	return NULL;
}

bool gate_keeps_out(struct sweep *s, struct inv_node *from, uint8_t num,
		    const struct inv_node *known, const struct wire_node_info *info)
{
	struct inv_port *port = &from->ports[num];
	struct gate *gate = s->parking.gate;
	struct gated *it = gate ? find(gate, from->guid, num) : NULL;

	if (!gate || wire_node_info_flaw(info) || !info->local_port ||
	    (port->peer && port->peer->guid == info->node_guid &&
	     port->peer_port == info->local_port))
		return false;

	enum sweep_gate verdict =
		gate->fn(gate->arg, from, num, known, info, it && it->read ? &it->port0 : NULL);

	if (verdict == SWEEP_READS_FIRST && !it) {
		gate->list = mem_resize(gate->list, gate->count + 1, sizeof(*it));
		gate->list[gate->count++] = (struct gated){ .from = from->guid, .num = num };
		sweep_ask(s, JOB_GATE, from, num, true);
	} else if (verdict == SWEEP_KEEPS_OUT) {
		uint8_t state = port->state;

		if (port->peer && port->link_up)
			ports_set_probe(s, from, num, PROBE_NONE);
		inventory_link_down(&s->inv, from, num);
		port->state = state;
		sweep_port(from, num)->probe = PROBE_REFUSED;
		sweep_port(from, num)->must_probe = false;
		sweep_touch(s, from);
	}
	if (verdict != SWEEP_READS_FIRST && it)
		*it = gate->list[--gate->count];
	return verdict != SWEEP_ADMITS;
}

void gate_answer(struct sweep *s, struct inv_node *from, uint8_t num, const uint8_t *data)
{
	struct gate *gate = s->parking.gate;
	struct gated *it = gate ? find(gate, from->guid, num) : NULL;

	if (!it)
		return;
	it->read = data && sweep_port(from, num)->probe == PROBE_OUT;
	if (!it->read) {
		*it = gate->list[--gate->count];
		return;
	}
	wire_port_info_decode(data, &it->port0);
	sweep_ask(s, JOB_PROBE, from, num, true); /* and now it is judged */
}
