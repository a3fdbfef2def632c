/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_counters: what ports have counted, which links are busiest by that, and which cables they
 * have. A row of counters or cables is one port with a link; a row of `top` is one link, by the end
 * that sends more.
 */
#include <math.h>
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define TOP_DEFAULT 10
#define TOP_MAX	    1000

struct listing {
	const struct topo *t;
	const struct filter *filter;
	uint64_t now_us;
	bool rates;
	command_put_fn *put;
	void *arg; /* of put */
};

/* ---- counters -------------------------------------------------------------------------------- */

static json_t *end_json(const struct topo *t, const struct topo_port *port)
{
	const struct topo_node *node = &t->nodes[port->node];
	const char *label = topo_port_label(t, port - t->ports);

	return json_pack("{ss so si ss*}", "name", node->name, "guid", json_guid(node->guid),
			 "port", port->num, "label", *label ? label : NULL);
}

static void add_port(void *arg, uint32_t index, const struct port_counters *c)
{
	struct listing *l = arg;
	const struct topo_port *port = &l->t->ports[index], *peer = topo_peer(l->t, port);
	json_t *row, *counters;

	if (!filter_has_port(l->filter, index))
		return;
	row = end_json(l->t, port);
	json_put(row, "{so ss ss si}", "to", end_json(l->t, peer), "state",
		 topo_state_name(port->state), "speed", topo_speed_name(port->speed), "width",
		 port->width);
	counters = c ? counters_json(c, l->now_us) : json_object();
	if (!l->rates)
		json_object_del(counters, "rates");
	json_object_update_missing(row, counters);
	json_decref(counters);
	if (l->rates)
		json_put(row, "{so so so}", "xmit_gbps",
			 json_figure(traffic_gbps(c, PERF_XMIT_DATA)), "rcv_gbps",
			 json_figure(traffic_gbps(c, PERF_RCV_DATA)), "load_percent",
			 json_figure(traffic_load(port, c, PERF_XMIT_DATA)));
	l->put(l->arg, row);
}

static bool rows_counters(const struct command_env *env, json_t *args, command_put_fn *put,
			  void *arg, char *err)
{
	struct listing l = { .t = command_topo(env, err),
			     .filter = env->filter,
			     .now_us = link_health_now_us(env->fabric),
			     .put = put,
			     .arg = arg };
	int rates = 0;

	if (!l.t || !command_unpack(args, err, "{s?b}", "rates", &rates))
		return false;
	l.rates = rates;
	link_health_each_port(env->fabric, add_port, &l);
	return true;
}
const struct command_run counters_run = { .rows = rows_counters, .long_answer = true };

/* ---- cables ---------------------------------------------------------------------------------- */

/* A row for each port with a module that was read. */
static bool rows_cables(const struct command_env *env, json_t *args, command_put_fn *put, void *arg,
			char *err)
{
	const struct topo *t = command_topo(env, err);

	if (!t || !command_unpack(args, err, "{}"))
		return false;
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);
		json_t *row, *module, *errors;

		if (!peer || !filter_has_port(env->filter, p))
			continue;
		module = link_module(env->fabric, t->nodes[port->node].guid, port->num);
		if (!module)
			continue;
		row = end_json(t, port);
		json_put(row, "{so}", "to", end_json(t, peer));
		json_object_update_missing(row, module);
		json_decref(module);
		errors = link_bit_errors(env->fabric, t->nodes[port->node].guid, port->num);
		json_put(row, "{sO? sO? sO?}", "raw_ber", json_object_get(errors, "raw_ber"),
			 "effective_ber", json_object_get(errors, "effective_ber"), "symbol_ber",
			 json_object_get(errors, "symbol_ber"));
		json_decref(errors);
		put(arg, row);
	}
	return true;
}
const struct command_run cables_run = { .rows = rows_cables, .long_answer = true };

/* ---- top ------------------------------------------------------------------------------------- */

struct busy {				     /* a link */
	uint32_t port;			     /* the end that sends more */
	double load, errors;		     /* NAN: not known */
	const struct port_counters *ends[2]; /* of that port, and of the other */
};

struct ranking {
	const struct topo *t;
	const struct filter *filter;
	const struct port_counters **counters; /* by port */
	struct busy *links;
	uint32_t count;
};

/* Of two figures the larger, of one that is not known the other. */
static struct busy link_of(const struct ranking *r, uint32_t port)
{
	uint32_t peer = r->t->ports[port].peer;
	const struct port_counters *a = r->counters[port], *b = r->counters[peer];
	double there = traffic_load(&r->t->ports[port], a, PERF_XMIT_DATA);
	double back = traffic_load(&r->t->ports[peer], b, PERF_XMIT_DATA);
	bool turned = !(there >= back) && !isnan(back);

	return (struct busy){ .port = turned ? peer : port,
			      .load = turned ? back : there,
			      .errors = fmax(traffic_errors(a), traffic_errors(b)),
			      .ends = { turned ? b : a, turned ? a : b } };
}

/* By load, or by errors; for qsort_r(). */
static int by_figure(const void *va, const void *vb, void *errors)
{
	const struct busy *x = va, *y = vb;
	double a = errors ? x->errors : x->load, b = errors ? y->errors : y->load;

	a = isnan(a) ? -1 : a;
	b = isnan(b) ? -1 : b;
	if (a != b)
		return a > b ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

/* The first of them, as far as their figure says something. */
static json_t *first_rows(struct ranking *r, int most, uint64_t now_us, bool errors)
{
	json_t *rows = json_array();

	qsort_r(r->links, r->count, sizeof(*r->links), by_figure, errors ? r : NULL);
	for (uint32_t i = 0; i < r->count && i < (uint32_t)most; i++) {
		const struct busy *link = &r->links[i];

		if (!((errors ? link->errors : link->load) > 0))
			break;

		const struct topo_port *port = &r->t->ports[link->port];
		const struct port_counters *c = link->ends[0];

		json_add(rows, "{so so ss si so so so so so}", "from", end_json(r->t, port), "to",
			 end_json(r->t, topo_peer(r->t, port)), "speed",
			 topo_speed_name(port->speed), "width", port->width, "load_percent",
			 json_figure(link->load), "gbps",
			 json_figure(traffic_gbps(c, PERF_XMIT_DATA)), "back_gbps",
			 json_figure(traffic_gbps(link->ends[1], PERF_XMIT_DATA)), "errors_per_s",
			 json_figure(link->errors), "age_s",
			 json_figure(c ? (now_us - counters_read_us(c)) / 1e6 : NAN));
	}
	return rows;
}

static json_t *answer_top(const struct command_env *env, json_t *args, char *err)
{
	struct ranking r = { .t = command_topo(env, err), .filter = env->filter };
	int most = TOP_DEFAULT, known = 0;
	json_t *load, *errors;

	if (!r.t || !command_unpack(args, err, "{s?i}", "n", &most))
		return NULL;
	if (most < 1 || most > TOP_MAX)
		return command_refuse(err, "n is not in 1..%d", TOP_MAX);
	r.counters = traffic_counters(env->fabric, r.t);
	r.links = mem_array(r.links, r.t->nlinks + 1u);
	TOPO_CABLES (r.t, port, peer) {
		uint32_t p = port - r.t->ports;

		if (port->link_up && !r.t->nodes[peer->node].sharp &&
		    !r.t->nodes[port->node].sharp && filter_has_link(r.filter, p))
			r.links[r.count++] = link_of(&r, p);
	}

	for (uint32_t i = 0; i < r.count; i++)
		known += !isnan(r.links[i].load);
	load = first_rows(&r, most, link_health_now_us(env->fabric), false);
	errors = first_rows(&r, most, link_health_now_us(env->fabric), true);
	free(r.counters);
	free(r.links);
	return json_pack("{si si so so}", "links", r.count, "known", known, "hottest", load,
			 "errors", errors);
}
const struct command_run top_run = { .answer = answer_top, .long_answer = true };

/* ---- history --------------------------------------------------------------------------------- */

#define HISTORY_STEP_MOST_S 86400
#define PLOT_WIDTH	    20

/* A bar of the row's highest load; "" = not read. */
static json_t *plot_json(const json_t *row, const char *key)
{
	const json_t *most = json_object_get(row, key);
	const char *bar = "####################";
	int filled = (int)lround(json_number_value(most) * PLOT_WIDTH / 100);

	return json_sprintf("%.*s", json_is_null(most) ? 0 : filled, bar);
}

static json_t *answer_history(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const struct topo_node *node;
	const char *text;
	struct what what;
	json_t *rows;
	int step_s = 3600;

	if (!t || !command_unpack(args, err, "{s:s, s?i}", "port", &text, "step", &step_s) ||
	    !command_find_what(env, text, WHAT_NODE | WHAT_PORT, &what, err))
		return NULL;
	if (step_s < 1 || step_s > HISTORY_STEP_MOST_S)
		return command_refuse(err, "step is not in 1..%d seconds", HISTORY_STEP_MOST_S);
	node = &t->nodes[what.node];
	if (!what.port && node->nports == 1)
		what.port = 1;
	if (!what.port)
		return command_refuse(err, "%s has %u ports: name one of them, as %s:1", node->name,
				      node->nports, node->name);
	rows = link_health_history(env->fabric, node->guid, what.port, step_s);
	JSON_EACH (row, rows)
		json_put(row, "{so so}", "sent_plot", plot_json(row, "sent_most_percent"),
			 "received_plot", plot_json(row, "received_most_percent"));
	return json_pack("{ss so si si so}", "name", node->name, "guid", json_guid(node->guid),
			 "port", what.port, "step_s", step_s, "rows", rows);
}

/* Who asks for the last hour watches. */
static void watch_history(const struct command_env *env, json_t *args)
{
	json_int_t step_s = json_number(args, "step");
	char err[COMMAND_ERROR_SIZE];
	struct what what;

	if (step_s && command_topo(env, err) &&
	    command_find_what(env, json_text(args, "port"), WHAT_NODE | WHAT_PORT, &what, err))
		link_health_watch(env->fabric, command_topo(env, err)->nodes[what.node].guid,
				  what.port ?: 1, step_s);
}
const struct command_run history_run = { .before = watch_history,
					 .answer = answer_history,
					 .long_answer = true };
