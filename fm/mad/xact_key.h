/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * xact_key: with which M_Key an SMP goes. Private to fm/mad.
 *
 * Where a port may hold one of several a lost try of an SMP is repeated with the next one, and what
 * was answered is the device's next first choice: of Sets, and apart from these of Gets, which most
 * ports answer whatever the key. A Set of PortInfo that gave the port another key ends that. What a
 * port has shown goes before what its device is remembered for.
 */
#ifndef FMD_MAD_XACT_KEY_H
#define FMD_MAD_XACT_KEY_H

#include "fm/mad/xact.h"

struct xact_keys {
	mad_keys_fn *fn; /* NULL: key and old_key, of all ports */
	void *arg;
	uint64_t key, old_key; /* 0 = there is none */
};

/* Sets x->key; called before each try. */
void xact_key_choose(const struct xact_keys *keys, struct xact *x);
/* A try was lost. True: its key may be the reason, and the next try has another. */
bool xact_key_failed(const struct xact_keys *keys, const struct xact *x);
/* A try was answered. done: with status 0. */
void xact_key_worked(const struct xact_keys *keys, const struct xact *x, bool done);

#endif
