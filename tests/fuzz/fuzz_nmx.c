/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as two answers of a rack's NMX-T endpoint: the first two bytes say where the second
 * begins and the size of the pieces. Read whole and in pieces they come to the same verdict, for a
 * host by its tray and for one by its slot.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct nmx *nmx, const char *data, size_t size, size_t piece, uint64_t now_us)
{
	struct exposition *e = malloc(sizeof(*e));

	nmx_begin(nmx, now_us);
	exposition_init(e, &nmx_ops, nmx);
	for (size_t at = 0; at < size; at += piece)
		exposition_feed(e, data + at, size - at < piece ? size - at : piece);
	if (exposition_end(e))
		nmx_end(nmx);
	free(e);
}

static void judge(const char *data, size_t size, size_t cut, size_t piece,
		  struct nvswitch_verdict *verdicts)
{
	static const struct nmx_place places[] = { { 17, -1, "" }, { -1, 27, "1820325172739" } };
	struct nmx *racks = NULL, *nmx = nmx_at(&racks, "rack");

	answer(nmx, data, cut, piece, 1000000);
	answer(nmx, data + cut, size - cut, piece, 2000000);
	for (unsigned i = 0; i < 2; i++)
		nmx_judge(nmx, &places[i], 300000000, &verdicts[i]);
	nmx_free(racks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvswitch_verdict whole[2], pieces[2];
	size_t cut;

	if (size < 2)
		return 0;
	cut = (size - 2) * data[0] / 255;
	judge((const char *)data + 2, size - 2, cut, size, whole);
	judge((const char *)data + 2, size - 2, cut, data[1] % 61 + 1u, pieces);
	for (unsigned i = 0; i < 2; i++) {
		assert(whole[i].state == pieces[i].state && whole[i].count == pieces[i].count);
		assert(whole[i].state <= NVSWITCH_UNKNOWN && whole[i].count <= NVSWITCH_FINDINGS);
		for (unsigned k = 0; k < whole[i].count; k++) {
			assert(memchr(whole[i].findings[k].text, 0,
				      sizeof(whole[i].findings[k].text)));
			assert(!strcmp(whole[i].findings[k].text, pieces[i].findings[k].text));
		}
	}
	return 0;
}
