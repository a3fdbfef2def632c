/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The folder that is written: OUT/fmd.conf, files of OUT/state and a marker, by which a later run
 * knows that it may replace it. All is made in a folder beside it first, which then takes its
 * place: what can't be finished leaves OUT as it was. Nothing is written to /etc/fmd, /var/lib/fmd,
 * a folder of somebody else, or one in which a fmd has run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/conf/conf.h"
#include "fm/fmctl/import.h"
#include "topology/base/mem.h"

#define MARKER "made-by-fmctl-import-opensm"

static int refuse(const char *path, const char *why)
{
	fprintf(stderr, "fmctl: import-opensm: %s: %s\n", path, why);
	return -1;
}

static int failed(const char *path)
{
	return refuse(path, strerror(errno));
}

/* ---- May it be written? ---------------------------------------------------------------------- */

/* The folder's real path, also where its last part is still to come; the caller's. NULL: errno. */
static char *real_path(const char *path)
{
	char *whole = realpath(path, NULL), *copy, *slash, *parent, *joined;

	if (whole || errno != ENOENT)
		return whole;
	copy = mem_strdup(path);
	for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	joined = parent ? mem_printf("%s/%s", strcmp(parent, "/") ? parent : "",
				     slash ? slash + 1 : copy)
			: NULL;
	free(parent);
	free(copy);
	return joined;
}

static bool is_within(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/');
}

/* Whether the folder has nothing but these; one that is not there has nothing. */
static bool has_only(const char *folder, const char *const *names)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	bool only = true;

	while (only && dir && (entry = readdir(dir))) {
		unsigned i = 0;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		while (names[i] && strcmp(names[i], entry->d_name) != 0)
			i++;
		only = names[i] != NULL;
	}
	if (dir)
		closedir(dir);
	return only;
}

/* NULL: it may be made, or replaced. */
static const char *why_not(const char *place)
{
	static const char *const in_out[] = { MARKER, "fmd.conf", "state", NULL };
	static const char *const in_state[] = { "lids", "guid2mkey", NULL };
	char *state = mem_printf("%s/state", place), *marker = mem_printf("%s/%s", place, MARKER);
	const char *why = NULL;

	if (is_within(place, "/etc/fmd") || is_within(place, "/var/lib/fmd"))
		why = "is a directory that fmd uses: choose another --output, and copy from there "
		      "what you want";
	else if (access(place, F_OK))
		why = NULL;
	else if (access(marker, F_OK))
		why = "exists and was not made by import-opensm: choose another --output";
	else if (!has_only(state, in_state))
		why = "an fmd has run with the state in it: choose another --output";
	else if (!has_only(place, in_out))
		why = "has files that are not import-opensm's: choose another --output";
	free(state);
	free(marker);
	return why;
}

int import_out_begin(struct import *im)
{
	const char *why;

	im->place = real_path(im->out);
	if (!im->place)
		return failed(im->out);
	why = why_not(im->place);
	if (why)
		return refuse(im->out, why);
	im->made = mem_printf("%s.XXXXXX", im->place);
	if (mkdtemp(im->made))
		return 0;
	failed(im->made);
	free(im->made);
	im->made = NULL;
	return -1;
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef void write_fn(const struct import *im, FILE *out);

/* Its content may be keys: for its owner alone. */
static int write_file(const struct import *im, const char *name, write_fn *write)
{
	char *path = mem_printf("%s/%s", im->made, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out) {
		write(im, out);
		status = fflush(out) || fsync(fd) || ferror(out) ? -1 : 0;
		status = fclose(out) ? -1 : status;
	}
	if (status)
		failed(path);
	free(path);
	return status;
}

static void write_try(const struct import *im, FILE *out)
{
	fputs(im->text, out);
}

bool import_try(const struct import *im, const char *text, char *why, size_t size)
{
	struct import aside = { .made = im->made, .text = (char *)text };
	char *path = mem_printf("%s/fmd.conf", im->made), err[512] = "could not be written";
	struct conf conf;
	bool good = !write_file(&aside, "fmd.conf", write_try) &&
		    !conf_load(path, &conf, err, sizeof(err));
	size_t len = strlen(path);

	if (!good) {
		const char *reason = err;

		if (!strncmp(err, path, len) && err[len] == ':')
			reason = err + len + 1 + strspn(err + len + 1, "0123456789: ");
		snprintf(why, size, "fmd rejects it: %s", reason);
	}
	free(path);
	return good;
}

static void write_reasons(const char *title, const json_t *rows, FILE *out)
{
	const json_t *row;
	size_t i;

	if (json_array_size(rows))
		fprintf(out, "\n# %s:\n", title);
	json_array_foreach ((json_t *)rows, i, row)
		fprintf(out, "# %s %s: %s\n", json_string_value(json_object_get(row, "option")),
			json_string_value(json_object_get(row, "value")),
			json_string_value(json_object_get(row, "why")));
}

static void write_conf(const struct import *im, FILE *out)
{
	fputs("# fmd.conf, made of OpenSM's files by `fmctl import-opensm`. Options that are\n# "
	      "not listed have fmd's default; see fmd.conf(5).\n#\n"
	      "# LIDs and M_Keys are in the directory state beside this file. To use them, copy "
	      "its "
	      "files\n"
	      "# to /var/lib/fmd before the first start, or set state_dir to that directory for a "
	      "trial.\n\n",
	      out);
	fputs(im->text, out);
	write_reasons("Warnings", im->warnings, out);
	write_reasons("Not taken", im->not_taken, out);
}

/* The form of fmd's file of LIDs. */
static void write_lids(const struct import *im, FILE *out)
{
	for (uint32_t i = 0; i < im->lids.count; i++) {
		const struct osm_lid *it = &im->lids.list[i];

		fprintf(out, "0x%016" PRIx64 " %" PRIu32 " %d\n", it->port, it->first,
			__builtin_ctz(it->last - it->first + 1));
	}
}

static void write_mkeys(const struct import *im, FILE *out)
{
	for (uint32_t i = 0; i < im->mkeys.count; i++)
		fprintf(out, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", im->mkeys.list[i].guid,
			im->mkeys.list[i].key);
}

static void write_marker(const struct import *im, FILE *out)
{
	fputs("A later `fmctl import-opensm` may replace this directory.\n", out);
}

/* ---- Taking its place ------------------------------------------------------------------------ */

static void remove_folder(const char *folder)
{
	static const char *const names[] = { "state/lids", "state/guid2mkey", "state", "fmd.conf",
					     MARKER };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = mem_printf("%s/%s", folder, names[i]);

		if (!strcmp(names[i], "state"))
			rmdir(path);
		else
			unlink(path);
		free(path);
	}
	rmdir(folder);
}

int import_out_write(struct import *im)
{
	char *old = mem_printf("%s.old", im->made), *state = mem_printf("%s/state", im->made);
	int status = write_file(im, "fmd.conf", write_conf);

	if (!status && mkdir(state, 0700))
		status = failed(state);
	if (!status && im->lids.count)
		status = write_file(im, "state/lids", write_lids);
	if (!status && im->mkeys.count)
		status = write_file(im, "state/guid2mkey", write_mkeys);
	if (!status)
		status = write_file(im, MARKER, write_marker);
	if (!status && rename(im->place, old) && errno != ENOENT)
		status = failed(im->place);
	if (!status && rename(im->made, im->place)) {
		status = failed(im->place);
		rename(old, im->place);
	}
	if (!status) {
		remove_folder(old);
		free(im->made);
		im->made = NULL;
	}
	free(old);
	free(state);
	return status;
}

void import_out_end(struct import *im)
{
	if (im->made)
		remove_folder(im->made);
	free(im->made);
	free(im->place);
	im->made = im->place = NULL;
}
