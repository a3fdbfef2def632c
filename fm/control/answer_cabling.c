/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_cabling: the cables that are wrong by the regular pattern of the fabric. */
#include "fm/control/answer.h"
#include "topology/cabling.h"

static json_t *answer_cabling(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	struct cabling *rails, *pattern;
	json_t *result;

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;
	rails = cabling_rails(t);
	pattern = cabling_pattern(t);
	result = json_pack("{s:o, s:o}", "rails", cabling_json(rails), "pattern",
			   cabling_json(pattern));
	cabling_free(rails);
	cabling_free(pattern);
	return result;
}
const struct command_run cabling_run = { .answer = answer_cabling, .long_answer = true };
