/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where files are, and what was found of them. */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "fm/fmctl/import.h"
#include "topology/mem.h"

/* An absolute path, the caller's; NULL = no file there. */
static char *file_at(const char *path)
{
	struct stat st;

	return stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : realpath(path, NULL);
}

char *import_find(const struct import *im, const char *name, const char *else_at)
{
	char *found = NULL;

	for (int i = 0; i < im->ndirs && !found; i++) {
		char *path = mem_printf("%s/%s", im->dirs[i], name);

		found = file_at(path);
		free(path);
	}
	if (!found && else_at && *else_at == '/')
		found = file_at(else_at);
	return found;
}

void import_note_read(struct import *im, const char *what, const char *path, const char *format,
		      ...)
{
	char said[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	json_array_append_new(im->read,
			      json_pack("{ss ss ss}", "what", what, "path", path, "said", said));
}

void import_note_missing(struct import *im, const char *what)
{
	json_array_append_new(im->missing, json_string(what));
}
