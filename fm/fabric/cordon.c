/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_cordon: switches and cables that operators keep traffic off, before maintenance.
 *
 * A cordon is a node GUID and a port, port 0 for the whole switch, in state_dir/cordons. It is marked
 * in the inventory before each snapshot; routing then leads nothing through its cables to other
 * switches but what only they reach (routing/ftree/route.c), so no pair of hosts goes dark by one. Cables
 * to hosts carry no transit and are never cordoned.
 *
 * A change is an act like `reroute`: proven, programmed, and answered when that is done. One whose
 * tables are refused is taken back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define ERROR_SIZE 512

/* ---- The list and its file ----------------------------------------------------------------------- */

static void add_cordon(struct cordon **list, unsigned *count, struct cordon cordon)
{
	*list = mem_resize(*list, *count + 1, sizeof(cordon));
	(*list)[(*count)++] = cordon;
}

static bool has_cordon(const struct fabric *f, guid_t node, unsigned port)
{
	for (unsigned i = 0; i < f->ncordons; i++)
		if (f->cordons[i].node == node && f->cordons[i].port == port)
			return true;
	return false;
}

static void drop_cordon(struct fabric *f, struct cordon cordon)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < f->ncordons; i++)
		if (f->cordons[i].node != cordon.node || f->cordons[i].port != cordon.port)
			f->cordons[kept++] = f->cordons[i];
	f->ncordons = kept;
}

static unsigned read_cordons(void *arg, FILE *in)
{
	struct fabric *f = arg;
	char line[128], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct cordon cordon;
		unsigned port;

		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (sscanf(line, "0x%" SCNx64 " %u %c", &cordon.node, &port, &rest) != 2 ||
		    port > UINT8_MAX)
			return number;
		cordon.port = (uint8_t)port;
		if (!has_cordon(f, cordon.node, port))
			add_cordon(&f->cordons, &f->ncordons, cordon);
	}
	return 0;
}

static void forget_cordons(void *arg)
{
	struct fabric *f = arg;

	f->ncordons = 0;
}

static void write_cordons(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	for (unsigned i = 0; i < f->ncordons; i++)
		fprintf(out, "0x%016" PRIx64 " %u\n", f->cordons[i].node, f->cordons[i].port);
}

/* By name, for whom the file was lost. */
static void sum_up(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	for (unsigned i = 0; i < f->ncordons; i++) {
		const struct cordon *c = &f->cordons[i];
		const struct inv_node *node = inventory_find(sweep_inventory(f->sweep), c->node);

		fprintf(out, "%s", i ? ", " : "");
		if (node)
			fprintf(out, "%s", node->desc);
		else
			fprintf(out, "0x%016" PRIx64, c->node);
		if (c->port)
			fprintf(out, ":%u", c->port);
	}
}

static const struct state_file cordons_file = {
	.name = "cordons",
	.summary = sum_up,
	.form = "`GUID PORT`",
	.read = read_cordons,
	.forget = forget_cordons,
	.write = write_cordons,
};

void fabric_cordons_load(struct fabric *f)
{
	fabric_state_read(f, &cordons_file);
}

void fabric_cordons_fini(struct fabric *f)
{
	free(f->cordons);
}

/* ---- Marks --------------------------------------------------------------------------------------- */

static void mark(struct fabric *f, const struct cordon *cordon, bool on)
{
	struct inv_node *node = inventory_find(sweep_inventory(f->sweep), cordon->node);
	unsigned last;

	if (!node || !inv_is_switch(node))
		return;
	last = cordon->port ? cordon->port : node->nports;
	for (unsigned p = cordon->port ? cordon->port : 1; p <= last && p <= node->nports; p++) {
		const struct inv_node *peer = node->ports[p].peer;

		node->ports[p].cordoned = on && peer && inv_is_switch(peer);
	}
}

void fabric_cordons_mark(struct fabric *f)
{
	for (unsigned i = 0; i < f->ncordons; i++)
		mark(f, &f->cordons[i], true);
}

/* Marks go off at once and, where another cordon holds the same port, on again with the next snapshot. */
static void change_cordons(struct fabric *f, const struct cordon *changed, unsigned count, bool on)
{
	for (unsigned i = 0; i < count; i++) {
		if (on) {
			add_cordon(&f->cordons, &f->ncordons, changed[i]);
			continue;
		}
		mark(f, &changed[i], false);
		drop_cordon(f, changed[i]);
	}
	fabric_state_changed(f, &cordons_file);
	fabric_request_reroute(f, "cordons changed");
}

/* ---- What was named ------------------------------------------------------------------------------ */

/* A switch that has not been met since the restart, and has a cordon: by its GUID. */
static bool find_absent(const struct fabric *f, const char *what, struct target *target)
{
	char rest;

	if (sscanf(what, "0x%" SCNx64 "%c", &target->guid, &rest) != 1)
		return false;
	for (unsigned i = 0; i < f->ncordons; i++)
		if (f->cordons[i].node == target->guid) {
			snprintf(target->name, sizeof(target->name), "%s", what);
			return true;
		}
	return false;
}

bool fabric_find_target(const struct fabric *f, const char *what, struct target *target, char *err)
{
	*target = (struct target){ .node = TOPO_NONE };
	if (!f->topo) {
		snprintf(err, ERROR_SIZE,
			 "no picture of the fabric yet: the first sweep is under way");
		return false;
	}
	target->node = topo_resolve(f->topo, what, &target->port, err, ERROR_SIZE);
	if (target->node == TOPO_NONE)
		return false;
	target->guid = f->topo->nodes[target->node].guid;
	if (target->port)
		snprintf(target->name, sizeof(target->name), "%s p%u",
			 f->topo->nodes[target->node].desc, target->port);
	else
		snprintf(target->name, sizeof(target->name), "%s",
			 f->topo->nodes[target->node].desc);
	return true;
}

/* The switch port at the other end of a cable between switches, else NULL. */
static const struct topo_port *far_end(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));

	return node < t->nswitches && peer && peer->node < t->nswitches ? peer : NULL;
}

static unsigned count_cables(const struct topo *t, const struct target *target)
{
	unsigned count = 0;

	if (target->node == TOPO_NONE)
		return 0;
	for (unsigned num = 1; num <= t->nodes[target->node].nports; num++)
		if ((!target->port || num == target->port) && far_end(t, target->node, num))
			count++;
	return count;
}

static void take_if_there(const struct fabric *f, struct cordon_act *act, guid_t node, uint8_t port)
{
	if (has_cordon(f, node, port))
		add_cordon(&act->changed, &act->nchanged, (struct cordon){ node, port });
}

/* What is there about the target itself: its own cordons, and those of its cables from their other ends. */
static void gather_own(const struct fabric *f, const struct target *target, struct cordon_act *act)
{
	for (unsigned i = 0; i < f->ncordons; i++)
		if (f->cordons[i].node == target->guid &&
		    (!target->port || f->cordons[i].port == target->port))
			add_cordon(&act->changed, &act->nchanged, f->cordons[i]);
	if (target->node == TOPO_NONE)
		return;
	for (unsigned num = 1; num <= f->topo->nodes[target->node].nports; num++) {
		const struct topo_port *peer = far_end(f->topo, target->node, num);

		if (peer && (!target->port || num == target->port))
			take_if_there(f, act, f->topo->nodes[peer->node].guid, peer->num);
	}
}

/* The name of the switch whose cordon as a whole covers a cable, or NULL. */
static const char *covered_by(const struct fabric *f, const struct target *target)
{
	const struct topo_port *peer = far_end(f->topo, target->node, target->port);

	if (has_cordon(f, target->guid, 0))
		return f->topo->nodes[target->node].desc;
	if (peer && has_cordon(f, f->topo->nodes[peer->node].guid, 0))
		return f->topo->nodes[peer->node].desc;
	return NULL;
}

/* ---- The act ------------------------------------------------------------------------------------- */

/* A cable's cordon may stand at either of its ends, or be that of a whole switch. */
static bool is_cordoned(const struct fabric *f, const struct target *target)
{
	const struct topo_port *peer;

	if (has_cordon(f, target->guid, target->port) || !target->port)
		return has_cordon(f, target->guid, target->port);
	peer = far_end(f->topo, target->node, target->port);
	return covered_by(f, target) ||
	       (peer && has_cordon(f, f->topo->nodes[peer->node].guid, peer->num));
}

static void plan_cordon(const struct fabric *f, const struct target *target, struct cordon_act *act,
			char *err)
{
	if (!act->ports)
		snprintf(err, ERROR_SIZE,
			 "%s has no cable between switches: nothing to cordon there", target->name);
	else if (!is_cordoned(f, target))
		add_cordon(&act->changed, &act->nchanged,
			   (struct cordon){ target->guid, (uint8_t)target->port });
}

static void plan_uncordon(const struct fabric *f, const struct target *target,
			  struct cordon_act *act, char *err)
{
	const char *whole = target->port ? covered_by(f, target) : NULL;

	if (whole)
		snprintf(err, ERROR_SIZE, "%s is cordoned as a whole: uncordon that", whole);
	else
		gather_own(f, target, act);
}

static json_t *cordon_result(void *data)
{
	const struct cordon_act *act = data;
	const struct fabric *f = act->f;
	uint64_t blocks = program_blocks_written(f->program) - act->blocks_before;
	bool changed = act->nchanged || act->nreleased;
	json_t *result = json_pack(
		"{ss sb si sI sI sf sI}", "what", act->what, act->release ? "released" : "cordoned",
		act->release || act->on, "ports", (int)act->ports, "lft_entries_changed",
		(json_int_t)(changed ? f->figures.programmed.entries : 0), "lft_blocks_written",
		(json_int_t)blocks, "took_ms", (loop_now_us(f->loop) - act->asked_us) / 1e3,
		"unreachable", (json_int_t)f->proof.unreachable);

	json_object_set_new(result, "not_honoured", fabric_cordons_bent(f));
	if (act->note)
		json_object_set_new(result, "note", json_string(act->note));
	return result;
}

static void tell_act(const struct cordon_act *act, const char *verb, json_t *result)
{
	json_int_t entries = json_integer_value(json_object_get(result, "lft_entries_changed"));
	json_int_t blocks = json_integer_value(json_object_get(result, "lft_blocks_written"));
	const char *unsaved = json_string_value(json_object_get(result, "not_saved"));
	unsigned bent = (unsigned)json_array_size(json_object_get(result, "not_honoured"));

	if (bent)
		event_log_add(act->f->events, LOG_WARNING, "cordons-bent", NULL,
			      "fabric: %u %s traffic in spite of being cordoned: some hosts have "
			      "no other way",
			      bent, words_plural(bent, "place carries", "places carry"));
	event_log_add(act->f->events, LOG_NOTICE, verb, json_incref(result),
		      "%s: %s, %u %s: %lld %s in %lld %s, %.1f ms%s%s", act->what, verb, act->ports,
		      words_plural(act->ports, "cable", "cables"), entries,
		      words_plural((uint64_t)entries, "entry", "entries"), blocks,
		      words_plural((uint64_t)blocks, "block", "blocks"),
		      json_real_value(json_object_get(result, "took_ms")), unsaved ? ", but " : "",
		      unsaved ? unsaved : "");
}

static void cordon_reported(void *data, json_t *result, const char *error)
{
	const struct cordon_act *act = data;
	const char *verb = act->release ? "released" : act->on ? "cordoned" : "uncordoned";

	if (act->note)
		return;
	if (error)
		event_log_add(act->f->events, LOG_WARNING, verb, NULL,
			      "%s: %s, but not in force: %s", act->what, verb, error);
	else
		tell_act(act, verb, result);
}

static void cordon_rollback(void *data)
{
	const struct cordon_act *act = data;

	if (act->release)
		fabric_quarantine_undo(act->f, act);
	else
		change_cordons(act->f, act->changed, act->nchanged, !act->on);
}

static void cordon_free(void *data)
{
	struct cordon_act *act = data;

	free(act->changed);
	free(act->released);
	free(act);
}

static const struct fabric_operation_ops cordon_ops = { .file = "cordons",
							.rollback = cordon_rollback,
							.result = cordon_result,
							.reported = cordon_reported,
							.free = cordon_free };

static const struct fabric_operation_ops release_ops = { .file = "quarantine",
							 .rollback = cordon_rollback,
							 .result = cordon_result,
							 .reported = cordon_reported,
							 .free = cordon_free };

static const struct fabric_operation_ops *ops_of(const struct cordon_act *act)
{
	return act->release ? &release_ops : &cordon_ops;
}

void fabric_cordon_start(struct cordon_act *act, fabric_done_fn *fn, void *arg)
{
	fabric_operation_start(act->f, ops_of(act), act, fn, arg);
}

void fabric_cordon_unchanged(struct cordon_act *act, const char *note, fabric_done_fn *fn,
			     void *arg)
{
	act->note = note;
	fabric_operation_done(act->f, ops_of(act), act, fn, arg);
}

struct cordon_act *fabric_cordon_act(struct fabric *f, const struct target *target)
{
	struct cordon_act *act = mem_alloc(1, sizeof(*act));

	*act = (struct cordon_act){ .f = f,
				    .asked_us = loop_now_us(f->loop),
				    .blocks_before = program_blocks_written(f->program) };
	snprintf(act->what, sizeof(act->what), "%s", target->name);
	return act;
}

void fabric_cordon(struct fabric *f, const char *what, bool on, fabric_done_fn *fn, void *arg)
{
	char err[ERROR_SIZE] = "", refused[ERROR_SIZE] = "";
	struct cordon_act *act;
	struct target target;

	if (!fabric_find_target(f, what, &target, err) && (on || !find_absent(f, what, &target))) {
		fn(arg, NULL, err);
		return;
	}
	act = fabric_cordon_act(f, &target);
	act->on = on;
	act->ports = count_cables(f->topo, &target);
	(on ? plan_cordon : plan_uncordon)(f, &target, act, refused);
	if (act->nchanged) {
		change_cordons(f, act->changed, act->nchanged, on);
		fabric_cordon_start(act, fn, arg);
	} else if (*refused) {
		fn(arg, NULL, refused);
		cordon_free(act);
	} else {
		fabric_cordon_unchanged(act, on ? "already cordoned" : "not cordoned", fn, arg);
	}
}
