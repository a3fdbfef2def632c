/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inforce: how many pairs of hosts' ports packets reach, by what devices have shown: blocks that
 * switches acknowledged or were read to hold, and links that are Active at both ends
 * (routing/proof/in_force.h). `fmctl status` and /metrics have it beside the proof, which is of the
 * tables that are wanted, with the devices that the other pairs wait for.
 */
#ifndef FMD_INFORCE_MODULE_H
#define FMD_INFORCE_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module inforce_module;

#endif
