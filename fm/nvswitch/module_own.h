/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_own: what the files module*.c of the room share. */
#ifndef FMD_NVSWITCH_MODULE_OWN_H
#define FMD_NVSWITCH_MODULE_OWN_H

#include "fm/nvswitch/module.h"
#include "fm/nvswitch/nvswitch.h"

struct nvlink_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct nvswitch *nvswitch;
	bool refused;	/* the own port leads into an NVLink subnet, and that was logged */
	bool requested; /* a reroute, by the call that is under way */
};

/* module_files.c: reads the state files; marks one for writing: states and overrides, memories. */
#define NVLINK_STATES_FILE "nvswitch"
void nvlink_files_load(struct nvlink_room *room);
void nvlink_states_changed(struct nvlink_room *room);
void nvlink_memory_changed(struct nvlink_room *room);

/*
 * module_subnet.c: the description, in the snapshot, of a node of an NVLink subnet; NULL = the
 * snapshot has none.
 */
const char *nvlink_find_node(const struct topo *topo);

/* module_conf.c: texts are borrowed from conf. */
struct nvswitch_conf nvlink_conf(const struct conf *conf);

/* module_treat.c */
/* enum nvswitch_state by host of a snapshot, as routing uses them; the caller frees it. */
uint8_t *nvlink_states(const struct nvlink_room *room, const struct topo *topo);
/* Adds classes and weights of unhealthy hosts; states: by host, NULL = those in force. */
void nvlink_treat(const struct nvlink_room *room, const struct topo *topo, const uint8_t *states,
		  struct fabric_policy *policy);

#endif
