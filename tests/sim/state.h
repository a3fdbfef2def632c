/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: all that the fabric holds, for programs, a line each:
 *
 *   node ID switch|adapter on|off "DESCRIPTION"
 *   port NUMBER STATE PHYSICAL LID in|out PEER-ID PEER-PORT
 *   lft LID:PORT ..
 *
 * Ports and forwarding entries are of the node before them. A switch's port 0 has no PEER; other
 * ports without a link have no line.
 */
#pragma once

#include <stdio.h>
#include "tests/fabric/double.h"

void state_write(const struct double_fabric *d, FILE *out);
/* devices worked SECONDS s, the busiest SECONDS s: "DESCRIPTION"      at SMPs, since fmsim began */
void times_write(const struct double_fabric *d, FILE *out);
