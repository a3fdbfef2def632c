/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * refusing: switches that answer Gets but take no Set. A switch that did not take a Set is probed
 * first, by Get(SwitchInfo) and Set of the same content, as all tries of a Set may be lost on a bad
 * path. Each Set without an answer is followed by Get(PortInfo): a switch whose M_Key is somebody
 * else's is listed for that, and sent no further Set. Any other is sent one probe a minute while it
 * is isolated, and nothing else; the first that it takes ends the isolation.
 */
#ifndef FMD_ISOLATION_REFUSING_H
#define FMD_ISOLATION_REFUSING_H

#include "fm/isolation/list.h"

/*
 * A switch did not take a Set: probes it, and lists it if it takes none now. A switch that does not
 * answer a Get either is left to the sweep.
 */
void refusing_suspect(struct isolation *is, guid_t sw);
/* A sweep found switches whose PortStateChange cannot be cleared: suspects them. */
void refusing_swept(struct isolation *is);
/* A loop_fn: probes all listed switches, if fmd is master. */
void refusing_probe(void *isolation);
/* Ends all probes of suspects and frees them. */
void refusing_fini(struct isolation *is);

#endif
