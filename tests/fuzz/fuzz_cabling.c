/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a plan of cables: either there is a reason, or a fabric that is as it is planned,
 * and whatever its pattern is thought to be, findings can be told.
 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include "topology/cabling/cabling.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[512] = "";
	struct topo *t =
		cabling_plan_parse("plan", (const char *)data, size, NULL, err, sizeof(err));
	struct cabling *c;

	assert(t ? !*err : !strncmp(err, "plan", 4));
	if (!t)
		return 0;
	c = cabling_compare(t, t);
	assert(!c->count);
	cabling_free(c);
	c = cabling_pattern(t);
	json_decref(cabling_json(c));
	cabling_free(c);
	topo_unref(t);
	return 0;
}
