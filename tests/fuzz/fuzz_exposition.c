/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as an exporter's answer: read in one piece and in pieces whose size the first byte says, both times with the same outcome;
 * what was gathered is judged, and the verdict is one.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool gather(const char *data, size_t size, size_t piece, struct evidence *evidence)
{
	struct exposition *e = malloc(sizeof(*e));
	bool good;

	memset(evidence, 0, sizeof(*evidence));
	evidence_init(evidence, NVSWITCH_SYSTEM_AUTO);
	exposition_init(e, &evidence_ops, evidence);
	for (size_t at = 0; at < size; at += piece)
		exposition_feed(e, data + at, size - at < piece ? size - at : piece);
	good = exposition_end(e);
	free(e);
	return good;
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
	evidence_judge(&whole, 3, &verdict);
	assert(verdict.state <= NVSWITCH_UNKNOWN && verdict.count <= NVSWITCH_FINDINGS);
	for (unsigned i = 0; i < verdict.count; i++)
		assert(memchr(verdict.findings[i].text, 0, sizeof(verdict.findings[i].text)) &&
		       verdict.findings[i].state <= verdict.state);
	return 0;
}
