/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: traps about errors, and traps that can't be true, counted by their sender, as a room
 * (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module error_traps_module;

/* Appends a row for each port with recent ones (`fmctl links --sick`); something is published. */
void error_traps_unhealthy(const struct fabric *fabric, json_t *rows);
