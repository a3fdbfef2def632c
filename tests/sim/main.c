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
	const char *net, *control, *script;
	uint64_t seed, device_us;
	unsigned queue;
};

static void usage(FILE *out)
{
	fputs("usage: fmsim [options] NETFILE\n"
	      "  -c, --control SOCKET   where clients and commands connect (" CONTROL_DEFAULT ")\n"
	      "  -d, --device TIME      that a device's agent works at one SMP (20us; 0us: none)\n"
	      "  -q, --queue NUMBER     of SMPs that wait for it at most (64; 0: any)\n"
	      "  -r, --run SCRIPT       commands, with `at TIME' before those that are to come "
	      "later\n"
	      "  -s, --seed NUMBER      of all that is left to chance (1)\n"
	      "NETFILE is what ibnetdiscover and `fmctl topology --format ibnetdiscover' write.\n",
	      out);
}

static bool number_read(const char *word, uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, 0);
	if (*word >= '0' && *word <= '9' && !*end && !errno && *number <= max)
		return true;
	fprintf(stderr, "fmsim: '%s' is no number from 0 to %llu\n", word, (unsigned long long)max);
	return false;
}

static bool time_read(const char *word, uint64_t *us)
{
	if (sim_control_time(word, us) && *us <= UINT32_MAX)
		return true;
	fprintf(stderr, "fmsim: '%s' is no time: 20us, 2ms, 2.5s\n", word);
	return false;
}

static bool options_read(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = { { "control", required_argument, NULL, 'c' },
					       { "device", required_argument, NULL, 'd' },
					       { "queue", required_argument, NULL, 'q' },
					       { "run", required_argument, NULL, 'r' },
					       { "seed", required_argument, NULL, 's' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { 0 } };
	uint64_t number;
	int c;

	*o = (struct options){
		.seed = 1, .control = CONTROL_DEFAULT, .device_us = 20, .queue = 64
	};
	while ((c = getopt_long(argc, argv, "c:d:q:r:s:hV", longs, NULL)) >= 0) {
		switch (c) {
		case 'c':
			o->control = optarg;
			break;
		case 's':
			if (!number_read(optarg, UINT64_MAX, &o->seed))
				return false;
			break;
		case 'd':
			if (!time_read(optarg, &o->device_us))
				return false;
			break;
		case 'q':
			if (!number_read(optarg, UINT32_MAX, &number))
				return false;
			o->queue = (unsigned)number;
			break;
		case 'r':
			o->script = optarg;
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
	struct double_conf conf = { .seed = o->seed,
				    .at_once = true,
				    .device_us = (unsigned)o->device_us,
				    .device_queue = o->queue,
				    .trap_repeats = 5,
				    .state_table = true,
				    .all_counters = true,
				    .arb_cap = 8,
				    .wildcards = true };
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
	sim->control = sim_control_new(sim->d);
	sim_control_set_log(sim->control, stdout);
	if (sim->server &&
	    (!o->script || !sim_control_script(sim->control, o->script, err, sizeof(err))))
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
