/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lines: see lines.h. A line that does not fit into the buffer is wrong: its end, read as a line of
 * its own, might pass for one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/lines.h"

#define LINE_SIZE 4096

static const char *take(char *line, lines_fn *fn, void *arg)
{
	if (strlen(line) == LINE_SIZE - 1)
		return "the line is too long";
	line[strcspn(line, "#\r\n")] = '\0';
	return fn(arg, line);
}

/* Why a file, or with a number a line of it, is refused; always -1. */
static int refuse(const char *path, unsigned number, const char *why, char *err, size_t err_size)
{
	if (number)
		snprintf(err, err_size, "%s:%u: %s", path, number, why);
	else
		snprintf(err, err_size, "%s: %s", path, why);
	return -1;
}

int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size)
{
	FILE *in = fopen(path, "r");
	const char *wrong = NULL;
	char line[LINE_SIZE];
	unsigned number = 0;
	int error;

	if (!in)
		return refuse(path, 0, strerror(errno), err, err_size);
	while (!wrong && fgets(line, sizeof(line), in)) {
		number++;
		wrong = take(line, fn, arg);
	}
	error = ferror(in) ? errno : 0;
	fclose(in);
	if (wrong)
		return refuse(path, number, wrong, err, err_size);
	return error ? refuse(path, 0, strerror(error), err, err_size) : 0;
}
