/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * held: devices that acknowledge a setting and do not hold it: PortInfo, P_Key, SL2VL and VL
 * arbitration tables of ports (port_setup.unheld), LifeTimeValue and MulticastFDBTop of switches
 * (inv_node.sw_unheld). Each is an alert with its name for as long as it lasts. Ports are tried
 * once a minute by bring-up (bringup_retry()), switches here by one Set; the light sweep that
 * follows shows whether they hold it. Forwarding tables and LinearFDBTop are fm/isolation's.
 */
#ifndef FMD_VERIFICATION_HELD_H
#define FMD_VERIFICATION_HELD_H

#include "fm/fabric/module.h"

struct unheld { /* all zero but for services, which are borrowed: nothing of that kind is known */
	const struct fabric_services *services;
	unsigned ports;	   /* that do not hold what they acknowledged */
	unsigned named;	   /* ports and switches, by the latest alerts */
	uint64_t trial_us; /* switches are not tried again before then */
};

/* Bring-up has ended: ports that do not hold their settings are named. */
void unheld_brought_up(struct unheld *unheld, const struct bringup_result *result);
/*
 * A light sweep of a master has ended, and nothing is being programmed: switches that differ are
 * set again, or named.
 */
void unheld_polled(struct unheld *unheld);
void unheld_fini(struct unheld *unheld); /* ends its alerts */

#endif
