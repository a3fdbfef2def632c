/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl generate: a reference fabric as an ibnetdiscover file on stdout; the arguments are
 * generate_parse()'s.
 */
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "topology/generate.h"
#include "topology/netfile.h"

static const char usage[] =
	"usage: fmctl generate superpod --su N [--system a100|h100|b200] "
	"[--no-sharp]\n"
	"       fmctl generate pgft H m1,.. w1,.. [p1,..]\n"
	"       fmctl generate torus|ring|hypercube|hyperx|dragonfly+|jellyfish "
	"SIZE[,SIZE]..\n"
	"                      [--hosts N] [--cables N] [--seed N]\n";

static enum fmctl_exit run_generate(const struct fmctl *ctl, int argc, char **argv)
{
	char err[256] = "";
	struct topo *t;
	int status;

	if (argc < 2) {
		fputs(usage, stderr);
		return FMCTL_USAGE;
	}
	t = generate_parse(argc - 1, argv + 1, err, sizeof(err));
	if (!t) {
		fprintf(stderr, "fmctl: generate: %s\n", err);
		return FMCTL_USAGE;
	}
	status = netfile_write(t, stdout);
	topo_unref(t);
	if (!status)
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: generate: %s\n", strerror(-status));
	return FMCTL_FAILED;
}
const struct fmctl_view generate_view = { .run = run_generate, .usage = usage };
