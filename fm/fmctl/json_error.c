/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * json_error: with --json a program reads standard output, and finds a document there whatever
 * happened: of a command that failed before it had one, {"error": TEXT}. For that, what is written
 * to both streams passes through here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fmctl/fmctl.h"

static ssize_t write_out(void *cookie, const char *data, size_t len)
{
	struct fmctl_told *told = cookie;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(STDOUT_FILENO, data + done, len - done);

		if (n < 0 && errno != EINTR)
			return 0;
		done += n > 0 ? (size_t)n : 0;
	}
	told->any = true;
	return (ssize_t)len;
}

void fmctl_told_begin(struct fmctl_told *told)
{
	*told = (struct fmctl_told){ .out = stdout, .err = stderr };
	told->counted = fopencookie(told, "w", (cookie_io_functions_t){ .write = write_out });
	told->caught = open_memstream(&told->text, &told->len);
	if (told->counted)
		stdout = told->counted;
	if (told->caught)
		stderr = told->caught;
}

/* The first line, which has the reason; those of usage follow. */
static void print_error(const char *text)
{
	static const char begin[] = "fmctl: ";
	size_t len = strcspn(text, "\n");
	json_t *document;

	if (!strncmp(text, begin, sizeof(begin) - 1)) {
		text += sizeof(begin) - 1;
		len -= sizeof(begin) - 1;
	}
	document = json_pack("{s:s%}", "error", text, len);
	if (!document)
		document = json_pack("{s:s}", "error", "an argument is not text in UTF-8");
	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
}

int fmctl_told_end(struct fmctl_told *told, int status)
{
	int failed = fflush(stdout) || ferror(stdout);

	fflush(stderr);
	if (status != FMCTL_DONE && !told->any && told->text)
		print_error(told->text);
	failed |= fflush(stdout);
	if (told->counted)
		fclose(told->counted);
	if (told->caught)
		fclose(told->caught);
	stdout = told->out;
	stderr = told->err;
	if (told->text)
		fputs(told->text, stderr);
	free(told->text);
	if (failed && status == FMCTL_DONE) {
		perror("fmctl: output");
		return FMCTL_FAILED;
	}
	return status;
}
