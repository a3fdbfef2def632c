/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_path: how packets get to a LID. */
#include "fm/control/show.h"
#include "routing/path.h"

static json_t *hop_row(const struct show *s, const struct path_hop *hop)
{
	const struct topo_node *node = &s->t->nodes[hop->node];
	json_t *row = json_object();

	show_text(row, "name", node->name);
	show_text(row, "role", topo_role_name(node->role));
	show_index(row, "in_port", hop->in_port ? hop->in_port : -1);
	show_index(row, "out_port", hop->out_port ? hop->out_port : -1);
	return row;
}

void show_path(struct show *s, unsigned lid)
{
	uint32_t from =
		s->from != TOPO_NONE ? s->from : fabric_view_port_of_lid(&s->view, s->view.sm_lid);
	json_t *rows = json_array();
	struct path path;

	if (from != TOPO_NONE)
		show_text(s->doc, "path_from", s->t->nodes[s->t->ports[from].node].name);
	if (from != TOPO_NONE &&
	    !path_trace(s->t, s->view.lids, s->view.tables, from, (uint16_t)lid, &path))
		for (unsigned i = 0; i < path.count; i++)
			json_array_append_new(rows, hop_row(s, &path.hops[i]));
	json_object_set_new(s->doc, "path", rows);
}
