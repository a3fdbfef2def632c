/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: the partitions in force, as a room of the fabric manager (fm/fabric/module.h). */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module partition_module;

/*
 * The document of `fmctl --json partitions`: all, or one by name or P_Key, with its members. The
 * caller owns it; NULL = there is no such partition.
 */
json_t *partitions_document(const struct fabric *fabric, const char *which);
/*
 * Whether state_dir has a text of the last good partition file that can be used: a manager that
 * starts with a bad file uses that. Needs no fabric.
 */
bool partitions_kept(const struct conf *conf);
