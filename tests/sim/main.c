/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fmsim: see etc/fmsim.1. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include "tests/sim/control.h"
#include "tests/sim/server.h"
#include "topology/netfile.h"

#define CONTROL_DEFAULT "fmsim.sock"

struct sim {
	struct loop *loop;
	struct double_fabric *d;
	struct kernel *k;
	struct sim_control *control;
	struct server *server;
};

struct options {
	const char *net, *control;
	uint64_t seed;
};

static void usage(FILE *out)
{
	fputs("usage: fmsim [options] NETFILE\n"
	      "  -c, --control SOCKET   where clients and commands connect (" CONTROL_DEFAULT ")\n"
	      "  -s, --seed NUMBER      of all that is left to chance (1)\n"
	      "NETFILE is what ibnetdiscover and `fmctl topology --format ibnetdiscover' write.\n",
	      out);
}

static bool options_read(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = { { "control", required_argument, NULL, 'c' },
					       { "seed", required_argument, NULL, 's' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { 0 } };
	int c;

	*o = (struct options){ .seed = 1, .control = CONTROL_DEFAULT };
	while ((c = getopt_long(argc, argv, "c:s:hV", longs, NULL)) >= 0) {
		switch (c) {
		case 'c':
			o->control = optarg;
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		case 'V':
			puts("fmsim " FMD_VERSION);
			exit(0);
		default:
			return false;
		}
	}
	o->net = argv[optind];
	return o->net && !argv[optind + 1];
}

static int line_do(void *arg, const char *line, FILE *out)
{
	struct sim *sim = arg;

	return sim_control_line(sim->control, line, out);
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static guid_t any_node(const struct topo *t)
{
	return t->nnodes ? t->nodes[0].guid : 0;
}

static bool sim_start(struct sim *sim, const struct options *o)
{
	struct double_conf conf = { .seed = o->seed, .at_once = true };
	char err[512];
	struct topo *topo = netfile_read(o->net, err, sizeof(err));

	if (!topo || !topo->nnodes) {
		fprintf(stderr, "fmsim: %s\n", topo ? "an empty fabric" : err);
		return false;
	}
	sim->loop = loop_new();
	sim->d = double_new(sim->loop, topo, any_node(topo), 0, &conf);
	topo_unref(topo);
	sim->k = kernel_new(sim->loop, sim->d);
	sim->server =
		server_new(sim->loop, sim->d, sim->k, o->control, line_do, sim, err, sizeof(err));
	if (sim->server)
		return true;
	fprintf(stderr, "fmsim: %s\n", err);
	return false;
}

int main(int argc, char **argv)
{
	struct sim sim = { 0 };
	struct options o;
	int status = 1;

	if (!options_read(argc, argv, &o)) {
		usage(stderr);
		return 2;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	signal(SIGPIPE, SIG_IGN);
	if (sim_start(&sim, &o)) {
		loop_signal(sim.loop, SIGINT, stop_cb, sim.loop);
		loop_signal(sim.loop, SIGTERM, stop_cb, sim.loop);
		puts("ready");
		fflush(stdout);
		status = loop_run(sim.loop) ? 1 : 0;
	}
	server_free(sim.server);
	sim_control_free(sim.control);
	kernel_free(sim.k);
	double_free(sim.d);
	loop_free(sim.loop);
	return status;
}
