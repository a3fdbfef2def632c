/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hooks_report: those who ask: operators, clients that wait, alerts.
 * See fm/fabric/module.h for who calls them and when; a hook that is NULL is not needed.
 */
#ifndef FMD_FABRIC_HOOKS_REPORT_H
#define FMD_FABRIC_HOOKS_REPORT_H

#include <jansson.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

struct host_verdict;

struct fabric_report_hooks {
	/* Alerts about the present state are counted anew: behind each update and poll. */
	void (*review)(void *room);
	/* A client that waits is gone: its callbacks with this arg are dropped. */
	void (*cancel)(void *room, const void *arg);
	/* This manager is master no more: who waits is answered with this error. */
	void (*abandon)(void *room, const char *why);
	/*
	 * Why operators' commands that change something are not taken; until control returns to the
	 * loop. NULL = they are.
	 */
	const char *(*refusal)(void *room);
	/*
	 * Appends a row for each link that is unhealthy (`fmctl links --sick`); something is
	 * published.
	 */
	void (*unhealthy)(const void *room, json_t *rows);
	/*
	 * Adds what this room knows of a host, by index of the published snapshot, where that is
	 * not healthy.
	 */
	void (*host)(void *room, uint32_t host, struct host_verdict *verdict);
	/* What host() says has changed for some host (fabric_report_hosts_changed()). */
	void (*hosts_changed)(void *room);
	/* For fabric_link_clean_us(); the first room that has it is asked. */
	uint64_t (*link_clean_us)(const void *room, guid_t node, uint8_t port);
	/* Adds its members to the document of `fmctl --json status`. */
	void (*status)(const void *room, json_t *doc);
};

#endif
