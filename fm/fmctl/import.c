/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * import: fmctl import-opensm: converts OpenSM's configuration and state into fmd.conf and a
 * state_dir.
 *
 * Files are searched in the given folders, in this order (Debian has /etc/opensm and
 * /var/cache/opensm), then at the path in opensm.conf. Missing files are listed. Options that
 * cannot be taken are listed with the reason, in the report and in the fmd.conf that is made.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/core/words.h"
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/import.h"
#include "topology/mem.h"

/* ---- What there is --------------------------------------------------------------------------- */

/* Whether the file is there and was read. */
static bool read_conf(struct import *im)
{
	char *path = import_find(im, "opensm.conf", NULL);
	bool good = path && !osm_conf_read(path, &im->conf);

	if (good)
		import_note_read(im, "opensm.conf", path, "%u options", im->conf.count);
	else
		import_note_missing(im, "opensm.conf");
	free(path);
	return good;
}

static bool read_lids(struct import *im)
{
	char *path = import_find(im, "guid2lid", NULL);
	bool good = path && !osm_lids_read(path, &im->lids);

	if (good && im->lids.left_out)
		import_note_read(im, "guid2lid", path,
				 "LIDs of %u %s; %u left out, the first in line %u", im->lids.count,
				 words_plural(im->lids.count, "port", "ports"), im->lids.left_out,
				 im->lids.left_out_line);
	else if (good)
		import_note_read(im, "guid2lid", path, "LIDs of %u %s", im->lids.count,
				 words_plural(im->lids.count, "port", "ports"));
	else
		import_note_missing(im, "guid2lid");
	free(path);
	return good;
}

static void read_mkeys(struct import *im)
{
	char *path = import_find(im, "guid2mkey", NULL);

	if (path && !osm_guids_read(path, true, &im->mkeys)) {
		import_note_read(im, "guid2mkey", path, "keys of %u %s", im->mkeys.count,
				 words_plural(im->mkeys.count, "port", "ports"));
		import_mkeys(im, &im->mkeys);
	} else {
		import_note_missing(im, "guid2mkey");
	}
	free(path);
}

static enum fmctl_exit import(struct import *im)
{
	bool conf = read_conf(im), lids = read_lids(im);

	if (!conf && !lids) {
		fprintf(stderr, "fmctl: import-opensm: neither opensm.conf nor guid2lid is in");
		for (int i = 0; i < im->ndirs; i++)
			fprintf(stderr, " %s", im->dirs[i]);
		fputc('\n', stderr);
		return FMCTL_FAILED;
	}
	if (import_out_begin(im))
		return FMCTL_FAILED;
	import_options(im);
	import_named_files(im);
	read_mkeys(im);
	return import_out_write(im) ? FMCTL_FAILED : FMCTL_DONE;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void import_fini(struct import *im)
{
	import_out_end(im);
	osm_conf_fini(&im->conf);
	osm_lids_fini(&im->lids);
	osm_guids_fini(&im->mkeys);
	free(im->text);
	json_decref(im->read);
	json_decref(im->missing);
	json_decref(im->taken);
	json_decref(im->not_taken);
	json_decref(im->warnings);
}

static enum fmctl_exit import_to(const struct fmctl *ctl, char *const *dirs, int ndirs,
				 const char *out)
{
	struct import im = { .dirs = dirs,
			     .ndirs = ndirs,
			     .out = out,
			     .text = mem_strdup(""),
			     .read = json_array(),
			     .missing = json_array(),
			     .taken = json_array(),
			     .not_taken = json_array(),
			     .warnings = json_array() };
	enum fmctl_exit status = import(&im);

	if (status == FMCTL_DONE) {
		json_t *doc = import_document(&im);

		if (ctl->json)
			show_json(ctl, doc);
		else
			import_show(doc);
		json_decref(doc);
	}
	import_fini(&im);
	return status;
}

static enum fmctl_exit show_options(const struct fmctl *ctl)
{
	json_t *rows;

	if (!ctl->json) {
		import_show_options();
		return FMCTL_DONE;
	}
	rows = import_options_document();
	show_json(ctl, rows);
	json_decref(rows);
	return FMCTL_DONE;
}

static bool are_folders(char *const *dirs, int ndirs)
{
	struct stat st;

	for (int i = 0; i < ndirs; i++)
		if (stat(dirs[i], &st) || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
			fprintf(stderr, "fmctl: import-opensm: %s: %s\n", dirs[i], strerror(errno));
			return false;
		}
	return true;
}

static enum fmctl_exit run_import(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
					       { "options", no_argument, NULL, 'l' },
					       { 0 } };
	char *out = NULL;
	bool list = false;
	enum fmctl_exit status;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?')
			return FMCTL_USAGE;
		if (c == 'l')
			list = true;
		else
			out = optarg;
	}
	if (list)
		return optind == argc && !out ? show_options(ctl) : FMCTL_USAGE;
	if (optind == argc || (out && !*out))
		return FMCTL_USAGE;
	if (!are_folders(argv + optind, argc - optind))
		return FMCTL_FAILED;
	out = out ? mem_strdup(out) : mem_printf("%s/fmd", argv[optind]);
	status = import_to(ctl, argv + optind, argc - optind, out);
	free(out);
	return status;
}

const struct fmctl_view import_view = { .run = run_import };
