/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination after the other: from each leaf that has hosts the LID is followed until it
 * arrives, ends, or comes to a switch of which that is known. So each switch is looked at once a
 * destination.
 */
#include "routing/proof/in_force.h"
#include "topology/base/mem.h"

#define OPEN	TOPO_NONE	/* of this destination nothing is known yet */
#define ON_WALK (TOPO_NONE - 1) /* the walk under way has come by */
#define ARRIVES (TOPO_NONE - 2) /* else the node at which packets end */

struct in_force_job {
	struct in_force_view view;
	struct in_force sum;
	uint32_t *sources; /* [nswitches] hosts' ports at that switch whose links are Active */
	uint32_t *leaves, nleaves;
	uint32_t *end; /* [nswitches] of the present destination */
	uint32_t *walk;
	uint32_t *dark, ndark; /* hosts' ports whose links are not Active */
	uint32_t nhosts;       /* ports with a LID */
	uint32_t next;	       /* port */
};

static bool is_host_port(const struct in_force_view *v, uint32_t port)
{
	return topo_is_host(v->topo, v->topo->ports[port].node) && v->lids->lid_of_port[port];
}

bool in_force_carries(const struct in_force_view *v, uint32_t port)
{
	const uint32_t peer = v->topo->ports[port].peer;

	if (peer == TOPO_NONE)
		return false;
	if (v->show) {
		v->show(v->arg, v->topo->ports[port].node);
		v->show(v->arg, v->topo->ports[peer].node);
	}
	return v->active[port] && v->active[peer];
}

struct in_force_job *in_force_begin(const struct in_force_view *view)
{
	struct in_force_job *job = mem_new(job);
	const struct topo *t = view->topo;

	job->view = *view;
	job->sum.ends = mem_array(job->sum.ends, t->nnodes + 1);
	job->sum.cut_off = mem_array(job->sum.cut_off, t->nnodes + 1);
	for (uint32_t port = 0; port < t->nports; port++)
		job->sum.cut_off[t->ports[port].node] |= is_host_port(view, port);
	job->sources = mem_array(job->sources, t->nswitches + 1);
	job->leaves = mem_array(job->leaves, t->nswitches + 1);
	job->end = mem_array(job->end, t->nswitches + 1);
	job->walk = mem_array(job->walk, t->nswitches + 1);
	job->dark = mem_array(job->dark, t->nports + 1);
	for (uint32_t port = 0; port < t->nports; port++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[port]);

		if (!is_host_port(view, port))
			continue;
		job->nhosts++;
		if (!peer || peer->node >= t->nswitches || !in_force_carries(view, port))
			job->dark[job->ndark++] = port;
		else if (!job->sources[peer->node]++)
			job->leaves[job->nleaves++] = peer->node;
	}
	return job;
}

/* The port that packets leave a switch by; TOPO_NONE: they end there. */
static uint32_t way_out(const struct in_force_view *v, uint32_t sw, uint16_t lid)
{
	if (v->show)
		v->show(v->arg, sw);

	unsigned out = (v->rows ? v->rows[sw] : tables_row(v->held, sw))[lid];
	uint32_t port = v->topo->nodes[sw].port0 + out;

	return out && out <= v->topo->nodes[sw].nports && in_force_carries(v, port) ? port
										    : TOPO_NONE;
}

uint32_t in_force_end_of(const struct in_force_view *v, uint32_t from, uint16_t lid)
{
	const struct topo *t = v->topo;
	const uint32_t to = v->lids->port_of_lid[lid];
	uint32_t in = from, sw, out;

	if (t->ports[to].node >= t->nswitches && !in_force_carries(v, to))
		return t->ports[to].node; /* whatever is on the way */
	/* Who comes by more switches than there are goes round and round. */
	for (uint32_t hops = 0; in != to; hops++) {
		sw = t->ports[in].node;
		if (sw < t->nswitches && t->nodes[sw].port0 == to)
			break;
		if (sw >= t->nswitches && hops)
			return sw; /* another host */
		out = sw < t->nswitches		? way_out(v, sw, lid)
		      : in_force_carries(v, in) ? in
						: TOPO_NONE;
		if (out == TOPO_NONE || hops > t->nswitches)
			return sw;
		in = t->ports[out].peer;
	}
	return TOPO_NONE;
}

/* Where packets for the LID of that port end that are at the switch. */
static uint32_t follow(struct in_force_job *job, uint32_t sw, uint16_t lid, uint32_t to)
{
	const struct in_force_view *v = &job->view;
	uint32_t length = 0, end;

	for (end = job->end[sw]; end == OPEN; end = job->end[sw]) {
		uint32_t port = way_out(v, sw, lid);

		job->end[sw] = ON_WALK;
		job->walk[length++] = sw;
		end = sw;
		if (port == TOPO_NONE)
			break;
		if (v->topo->ports[port].peer == to) {
			end = ARRIVES;
			break;
		}
		port = v->topo->ports[port].peer;
		if (v->topo->ports[port].node >= v->topo->nswitches)
			break;
		sw = v->topo->ports[port].node;
	}
	if (end == ON_WALK)
		end = sw; /* round and round from here on */
	while (length)
		job->end[job->walk[--length]] = end;
	return end;
}

static void destination(struct in_force_job *job, uint32_t to)
{
	const struct in_force_view *v = &job->view;
	const struct topo_port *at = topo_peer(v->topo, &v->topo->ports[to]);
	uint32_t leaf = at && at->node < v->topo->nswitches ? at->node : TOPO_NONE;
	bool dark = leaf == TOPO_NONE || !in_force_carries(v, to);

	job->sum.pairs += job->nhosts - 1;
	if (dark) {
		job->sum.ends[v->topo->ports[to].node] += job->nhosts - 1;
		return;
	}
	for (uint32_t i = 0; i < job->ndark; i++)
		job->sum.ends[v->topo->ports[job->dark[i]].node]++;
	memset(job->end, 0xff, v->topo->nswitches * sizeof(*job->end));
	for (uint32_t i = 0; i < job->nleaves; i++) {
		uint32_t from = job->leaves[i];
		uint32_t pairs = job->sources[from] - (from == leaf);
		uint32_t end = follow(job, from, v->lids->lid_of_port[to], to);

		if (end == ARRIVES) {
			job->sum.arrive += pairs;
			job->sum.cut_off[v->topo->ports[to].node] &= !pairs;
		} else
			job->sum.ends[end] += pairs;
	}
}

bool in_force_go(struct in_force_job *job, uint32_t destinations)
{
	uint32_t nports = job->view.topo->nports;

	for (; job->next < nports && destinations; job->next++)
		if (is_host_port(&job->view, job->next)) {
			destination(job, job->next);
			destinations--;
		}
	return job->next < nports;
}

void in_force_end(struct in_force_job *job, struct in_force *out)
{
	if (out)
		*out = job->sum;
	else {
		free(job->sum.ends);
		free(job->sum.cut_off);
	}
	free(job->sources);
	free(job->leaves);
	free(job->end);
	free(job->walk);
	free(job->dark);
	free(job);
}
