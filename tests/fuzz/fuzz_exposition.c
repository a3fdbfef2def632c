/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as an exporter's answer: read in one piece and in pieces whose size the first byte
 * says, both times with the same outcome; what was gathered is judged, and the verdict is one; what
 * is kept of it in a file is read back as it was.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct memory_report report;

static bool gather(const char *data, size_t size, size_t piece, struct evidence *evidence)
{
	struct exposition *e = malloc(sizeof(*e));
	bool good;

	memset(evidence, 0, sizeof(*evidence));
	*evidence = (struct evidence){ .configured = NVSWITCH_SYSTEM_AUTO };
	exposition_init(e, &evidence_ops, evidence);
	for (size_t at = 0; at < size; at += piece)
		exposition_feed(e, data + at, size - at < piece ? size - at : piece);
	good = exposition_end(e);
	free(e);
	return good;
}

/* What is kept of it is read back as it was. */
static void remember_again(const struct memory *memory)
{
	static char text[2][1 << 16];
	static struct memory again;
	FILE *out = fmemopen(text[0], sizeof(text[0]), "w");
	char kind[16];
	int used;

	memory_write(memory, "h", out);
	fclose(out);
	memset(&again, 0, sizeof(again));
	for (char *line = text[0], *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		assert(sscanf(line, "%15s h %n", kind, &used) == 1);
		assert(memory_read(&again, kind, line + used, &report));
		*end = '\n';
	}
	out = fmemopen(text[1], sizeof(text[1]), "w");
	memory_write(&again, "h", out);
	fclose(out);
	assert(!strcmp(text[0], text[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size ? data[0] % 61 + 1 : 1;
	struct evidence whole, pieces;
	struct nvswitch_verdict verdict;

	if (!size)
		return 0;
	bool good = gather((const char *)data + 1, size - 1, size, &whole);
	assert(gather((const char *)data + 1, size - 1, piece, &pieces) == good);
	assert(!memcmp(&whole, &pieces, sizeof(whole)));
	const struct evidence_context context = { .now_us = 1 };
	static struct memory memory;
	memset(&memory, 0, sizeof(memory));
	evidence_judge(&whole, &memory, &context, &verdict);
	remember_again(&memory);
	assert(verdict.state <= NVSWITCH_UNKNOWN && verdict.count <= NVSWITCH_FINDINGS);
	for (unsigned i = 0; i < verdict.count; i++)
		assert(memchr(verdict.findings[i].text, 0, sizeof(verdict.findings[i].text)) &&
		       verdict.findings[i].state <= verdict.state);
	return 0;
}
