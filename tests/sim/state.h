/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: all that the fabric holds, for programs, a line each:
 *
 *     node ID switch|adapter on|off "DESCRIPTION" then of that node: port NUMBER STATE PHYSICAL LID
 *     in|out PEER-ID PEER-PORT of those with a cable, and of a switch's port 0 without PEER lft
 *     LID:PORT ..
 */
#ifndef FMD_TESTS_SIM_STATE_H
#define FMD_TESTS_SIM_STATE_H

#include <stdio.h>
#include "tests/fabric/double.h"

void state_write(const struct double_fabric *d, FILE *out);
/* devices worked SECONDS s, the busiest SECONDS s: "DESCRIPTION"      at SMPs, since fmsim began */
void times_write(const struct double_fabric *d, FILE *out);

#endif
