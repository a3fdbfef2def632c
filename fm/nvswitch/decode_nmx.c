/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * decode_nmx: decodes a rack's NMX-T endpoint, which reports on all its hosts; nmx.h has the rows.
 */
#include <stdio.h>
#include "fm/nvswitch/decoder.h"
#include "fm/nvswitch/nmx.h"

static bool reads(const struct target *target)
{
	return nmx_place_is_set(&target->place);
}

static void *keep(void)
{
	return nmx_new();
}

static void drop(void *kept)
{
	nmx_free(kept);
}

static void begin(void *kept, const struct target *target, uint64_t now_us)
{
	nmx_begin(kept, now_us);
}

static void whole(void *kept)
{
	nmx_end(kept);
}

static bool judge(void *kept, const struct decoder_subject *subject,
		  struct nvswitch_verdict *verdict, char *error, size_t error_size)
{
	nmx_judge(kept, &subject->target->place, subject->home->conf->link_window_us, verdict);
	if (verdict->state == NVSWITCH_UNKNOWN)
		snprintf(error, error_size, "it reports no NVLinks of that tray or slot");
	return verdict->state != NVSWITCH_UNKNOWN;
}

const struct decoder decoder_nmx = {
	.reads = reads,
	.shared = true,
	.keep = keep,
	.drop = drop,
	.ops = &nmx_ops,
	.begin = begin,
	.whole = whole,
	.judge = judge,
};
