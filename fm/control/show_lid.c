/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_lid: a LID: who has it, and how packets get there. */
#include "fm/control/show.h"

void show_lid(struct show *s, const struct what *what)
{
	uint32_t at = s->view.lids->port_of_lid[what->number];
	const struct lid_use use = link_use_of_lid(&s->scene, what->number);
	unsigned base = s->view.lids->lid_of_port[at];

	show_text(s->doc, "kind", "lid");
	show_text(s->doc, "name", "");
	show_int(s->doc, "lid", what->number);
	show_text(s->doc, "of", s->t->nodes[what->node].name);
	show_int(s->doc, "base_lid", base);
	show_int(s->doc, "switches_forwarding", use.forward);
	show_int(s->doc, "switches_dropping", use.drop);
	if (what->port)
		show_port(s, at, false);
	else
		show_node(s, what->node);
	if (s->from == TOPO_NONE)
		show_path(s, what->number);
	show_text(s->doc, "kind", "lid");
	json_object_set_new(s->doc, "name", json_sprintf("LID %u", what->number));
	show_int(s->doc, "lid", what->number);
}
