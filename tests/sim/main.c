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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "tests/fabric/double_own.h"
#include "tests/sim/control.h"
#include "tests/sim/run.h"
#include "tests/sim/server.h"
#include "tests/sim/state.h"
#include "tests/sim/view.h"
#include "topology/files/netfile.h"
#include "topology/what/what.h"

#define CONTROL_DEFAULT "fmsim.sock"
#define ARB_ENTRIES	8 /* of a VL arbitration table */
#define PKEYS		128
#define TRAP_REPEATS	5
#define DEVICE_US	20
#define QUEUE		64

struct options {
	const char *net, *control, *script, *tell;
	uint64_t seed, device_us, hop_us, queue, loss, trap_repeats;
	char **command; /* behind `--`; NULL = none was written */
};

struct sim {
	struct loop *loop;
	struct double_fabric *d;
	struct kernel *k;
	struct sim_control *control;
	struct server *server;
	struct run run;
	pid_t child; /* 0 = none */
	int status;  /* of it */
};

static void usage(FILE *out)
{
	fputs("usage: fmsim [options] NETFILE [-- [COMMAND ..]]\n"
	      "       fmsim [-c SOCKET] --tell LINE\n"
	      "  -c, --control SOCKET   where clients and commands connect (FMSIM, "
	      "else " CONTROL_DEFAULT ")\n"
	      "  -t, --tell LINE        says a line to a fmsim that runs, and prints its answer\n"
	      "  -r, --run SCRIPT       commands, with `at TIME' before those that are to come "
	      "later\n"
	      "  -d, --device TIME      that a device's agent works at one SMP (20us; 0us: none)\n"
	      "  -q, --queue NUMBER     of SMPs that wait for it at most (64; 0: any)\n"
	      "      --hop TIME         of each hop (0us)\n"
	      "      --loss NUMBER      of a thousand MADs between a port and its kernel, lost "
	      "(0)\n"
	      "      --trap-repeats N   of a trap that nobody represses (5)\n"
	      "  -s, --seed NUMBER      of all that is left to chance (1)\n"
	      "NETFILE is what ibnetdiscover and `fmctl topology --format ibnetdiscover' write.\n"
	      "With `--' fmd runs on it too, and fmsim ends with COMMAND, or with a shell.\n",
	      out);
}

/* ---- Options --------------------------------------------------------------------------------- */

enum { OPT_HOP = 256, OPT_LOSS, OPT_TRAPS };

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

static bool option_take(struct options *o, int c)
{
	switch (c) {
	case 'c':
		o->control = optarg;
		return true;
	case 'r':
		o->script = optarg;
		return true;
	case 't':
		o->tell = optarg;
		return true;
	case 's':
		return number_read(optarg, UINT64_MAX, &o->seed);
	case 'd':
		return time_read(optarg, &o->device_us);
	case 'q':
		return number_read(optarg, UINT32_MAX, &o->queue);
	case OPT_HOP:
		return time_read(optarg, &o->hop_us);
	case OPT_LOSS:
		return number_read(optarg, 1000, &o->loss);
	case OPT_TRAPS:
		return number_read(optarg, UINT32_MAX, &o->trap_repeats);
	default:
		return false;
	}
}

static bool options_read(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "control", required_argument, NULL, 'c' },
		{ "tell", required_argument, NULL, 't' },
		{ "run", required_argument, NULL, 'r' },
		{ "device", required_argument, NULL, 'd' },
		{ "queue", required_argument, NULL, 'q' },
		{ "hop", required_argument, NULL, OPT_HOP },
		{ "loss", required_argument, NULL, OPT_LOSS },
		{ "trap-repeats", required_argument, NULL, OPT_TRAPS },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;

	*o = (struct options){
		.seed = 1, .device_us = DEVICE_US, .queue = QUEUE, .trap_repeats = TRAP_REPEATS
	};
	for (int i = 1; i < argc && !o->command; i++)
		if (!strcmp(argv[i], "--")) {
			o->command = argv + i + 1;
			argc = i;
		}
	while ((c = getopt_long(argc, argv, "c:t:r:d:q:s:hV", longs, NULL)) >= 0) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		if (c == 'V') {
			puts("fmsim " FMD_VERSION);
			exit(0);
		}
		if (!option_take(o, c))
			return false;
	}
	o->net = optind < argc ? argv[optind] : NULL;
	return o->tell ? !o->net && !o->command : o->net && optind + 1 == argc;
}

/* ---- A line for a fmsim that runs ------------------------------------------------------------ */

static int answer_print(FILE *peer)
{
	char line[4096];

	while (fgets(line, sizeof(line), peer)) {
		if (!strcmp(line, "ok\n"))
			return 0;
		if (!strncmp(line, "error:", 6)) {
			fprintf(stderr, "fmsim: %s", line + 7);
			return 1;
		}
		fputs(line, stdout);
	}
	fputs("fmsim: it ended\n", stderr);
	return 1;
}

static int tell(const char *path, const char *line)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
	FILE *peer;

	if (strlen(path) < sizeof(address.sun_path))
		memcpy(address.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		fprintf(stderr, "fmsim: %s: %s\n", path, strerror(errno));
		return 1;
	}
	dprintf(fd, "%s\n", line);
	peer = fdopen(fd, "r");
	status = answer_print(peer);
	fclose(peer);
	return status;
}

/* ---- The fabric ------------------------------------------------------------------------------ */

/*
 * `device NODE on|off` is the machine's side of an adapter, so not the fabric's: a driver that
 * goes, and comes back.
 */
static int device_line(struct sim *sim, const char *words, FILE *out)
{
	const struct topo *t = sim->d->topo;
	char name[256], how[8], err[256];
	uint32_t node;
	unsigned port;

	if (sscanf(words, " \"%255[^\"]\" %7s", name, how) != 2 &&
	    sscanf(words, " %255s %7s", name, how) != 2) {
		fputs("error: device NODE on|off\n", out);
		return -EINVAL;
	}
	node = topo_resolve(t, name, &port, err, sizeof(err));
	if (node == TOPO_NONE || (strcmp(how, "on") && strcmp(how, "off"))) {
		fprintf(out, "error: %s\n", node == TOPO_NONE ? err : "device NODE on|off");
		return -EINVAL;
	}
	kernel_device(sim->k, t->nodes[node].guid, !strcmp(how, "on"));
	return 0;
}

static int line_do(void *arg, const char *line, FILE *out)
{
	struct sim *sim = arg;

	if (!strncmp(line, "device ", 7))
		return device_line(sim, line + 7, out);
	if (!strcmp(line, "limits on") || !strcmp(line, "limits off")) {
		kernel_set_limits(sim->k, line[8] == 'n');
		return 0;
	}
	if (!strcmp(line, "state")) {
		state_write(sim->d, out);
		return 0;
	}
	if (!strcmp(line, "times")) {
		times_write(sim->d, out);
		return 0;
	}
	return sim_control_line(sim->control, line, out);
}

static void stop_cb(void *arg)
{
	loop_stop(((struct sim *)arg)->loop);
}

static void child_cb(void *arg)
{
	struct sim *sim = arg;
	int status;

	if (!sim->child || waitpid(sim->child, &status, WNOHANG) != sim->child)
		return;
	sim->child = 0;
	sim->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	loop_stop(sim->loop);
}

static bool fabric_read(struct sim *sim, const struct options *o)
{
	const struct double_conf conf = { .seed = o->seed,
					  .at_once = true,
					  .hop_us = (unsigned)o->hop_us,
					  .device_us = (unsigned)o->device_us,
					  .device_queue = (unsigned)o->queue,
					  .trap_repeats = (unsigned)o->trap_repeats,
					  .state_table = true,
					  .all_counters = true,
					  .arb_cap = ARB_ENTRIES,
					  .pkey_cap = PKEYS,
					  .wildcards = true };
	char err[512];
	struct topo *topo = netfile_read(o->net, err, sizeof(err));

	if (!topo || !topo->nnodes) {
		fprintf(stderr, "fmsim: %s\n", topo ? "an empty fabric" : err);
		topo_unref(topo);
		return false;
	}
	sim->d = double_new(sim->loop, topo, topo->nodes[0].guid, 0, &conf);
	topo_unref(topo);
	sim->k = kernel_new(sim->loop, sim->d);
	kernel_set_loss(sim->k, (unsigned)o->loss);
	sim->control = sim_control_new(sim->d);
	if (!o->command)
		sim_control_set_log(sim->control, stdout);
	return true;
}

static const char *socket_path(struct sim *sim, const struct options *o)
{
	const char *named = getenv("FMSIM");

	if (o->control)
		return o->control;
	if (o->command)
		return sim->run.socket;
	return named ? named : CONTROL_DEFAULT;
}

static bool sim_start(struct sim *sim, const struct options *o)
{
	char err[512];

	sim->loop = loop_new();
	if (!fabric_read(sim, o))
		return false;
	sim->server = server_new(sim->loop, sim->d, sim->k, socket_path(sim, o), line_do, sim, err,
				 sizeof(err));
	if (!sim->server ||
	    (o->script && sim_control_script(sim->control, o->script, err, sizeof(err)))) {
		fprintf(stderr, "fmsim: %s\n", err);
		return false;
	}
	loop_signal(sim->loop, SIGINT, stop_cb, sim);
	loop_signal(sim->loop, SIGTERM, stop_cb, sim);
	loop_signal(sim->loop, SIGCHLD, child_cb, sim);
	return true;
}

static int sim_run(struct sim *sim, const struct options *o)
{
	if (o->command) {
		signal(SIGINT, SIG_IGN); /* the command's */
		sim->child = run_start(&sim->run, socket_path(sim, o), o->command);
	} else {
		puts("ready");
		fflush(stdout);
	}
	if (loop_run(sim->loop))
		sim->status = 1;
	if (sim->child > 0) {
		kill(sim->child, SIGTERM);
		waitpid(sim->child, NULL, 0);
	}
	return sim->status;
}

static void sim_end(struct sim *sim)
{
	server_free(sim->server);
	sim_control_free(sim->control);
	kernel_free(sim->k);
	double_free(sim->d);
	loop_free(sim->loop);
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
	if (o.tell)
		return tell(socket_path(&sim, &o), o.tell);
	prctl(PR_SET_TIMERSLACK, 1);
	signal(SIGPIPE, SIG_IGN);
	if (o.command && run_prepare(&sim.run)) {
		fprintf(stderr, "fmsim: cannot make a folder: %s\n", strerror(errno));
		return 1;
	}
	if (sim_start(&sim, &o))
		status = sim_run(&sim, &o);
	sim_end(&sim);
	if (o.command)
		run_clean(&sim.run);
	return status;
}
