/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* near: the fabric as schedulers want it: how near hosts are to one another. */
#ifndef FMD_CONTROL_NEAR_H
#define FMD_CONTROL_NEAR_H

#include "fm/control/answer.h"
#include "topology/snapshot/topo.h"

/*
 * {"text": ..} in the format "slurm-yaml" or "k8s" (topology/files/dump.h), with the NVLink
 * domains that exporters report; NULL with the reason in err, for any other format too.
 */
json_t *near_text(const struct command_env *env, const struct topo *t, const char *format,
		  char *err);

#endif
