/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * deploy: what is published goes to the devices: tables are programmed, ports and links brought up
 * (see deploy.c).
 */
#ifndef FMD_FABRIC_DEPLOY_H
#define FMD_FABRIC_DEPLOY_H

#include "fm/loop/loop.h"
#include "topology/snapshot/topo.h"

struct fabric;

/*
 * ended: called with f whenever programming or bring-up has ended; both may go on
 * (fm/fabric/progress.h).
 */
void fabric_deploy_init(struct fabric *f, loop_fn *ended);
void fabric_deploy_fini(struct fabric *f);

/*
 * Switches that were met may be set now; those whose PortStateChange was left as it is are swept
 * again.
 */
void fabric_deploy_adopt(struct fabric *f);
/*
 * Something else is published. before: the snapshot until then. NULL = there was none. Calls the
 * rooms' published().
 */
void fabric_deploy(struct fabric *f, const struct topo *before);
/*
 * The published snapshot has other states of ports, and the same tables: there may be links to
 * bring up.
 */
void fabric_deploy_ports(struct fabric *f, const struct topo *before);
/*
 * So many ports that acknowledged what they were set to are read back; ended is called as for a
 * bring-up.
 */
void fabric_deploy_read_back(struct fabric *f, unsigned ports);

#endif
