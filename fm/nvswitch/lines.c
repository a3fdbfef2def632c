/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lines: see lines.h. What was taken of lines before the wrong one is for the caller to drop. A
 * line that does not fit is wrong: its end, read as a line of its own, might pass for one.
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

int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size)
{
	FILE *in = fopen(path, "r");
	const char *wrong = NULL;
	char line[LINE_SIZE];
	unsigned number = 0;

	if (!in) {
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		return -1;
	}
	while (!wrong && fgets(line, sizeof(line), in)) {
		number++;
		wrong = take(line, fn, arg);
	}
	fclose(in);
	if (wrong)
		snprintf(err, err_size, "%s:%u: %s", path, number, wrong);
	return wrong ? -1 : 0;
}
