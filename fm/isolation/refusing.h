/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * refusing: switches that answer, and take no Set. One that did not take a Set is asked for its
 * SwitchInfo first, and sent it back: where packets get lost, so may all tries of a Set. While it
 * is isolated it is sent no other Set than a probe a minute: the first that it takes releases it.
 */
#ifndef FMD_ISOLATION_REFUSING_H
#define FMD_ISOLATION_REFUSING_H

#include "fm/isolation/list.h"

/*
 * That switch did not take a Set: it is isolated unless it takes one now. Who does not even answer
 * a Get is left to the sweep.
 */
void refusing_suspect(struct isolation *is, guid_t sw);
/* A sweep has met switches whose PortStateChange cannot be cleared. */
void refusing_swept(struct isolation *is);
void refusing_probe(void *isolation); /* a loop_fn: probes all of them, as master */
void refusing_fini(struct isolation *is);

#endif
