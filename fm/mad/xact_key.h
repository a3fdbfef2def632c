/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * xact_key: with which M_Key an SMP goes. Private to fm/mad.
 *
 * Where there is an old M_Key a lost try of an SMP is repeated with the other one, and what was
 * answered is the device's next first choice: of Sets, and apart from these of Gets, which most
 * ports answer whatever the key. A Set of PortInfo that gave the port the new key ends that. Such
 * devices are remembered.
 */
#ifndef FMD_MAD_XACT_KEY_H
#define FMD_MAD_XACT_KEY_H

#include "fm/mad/xact.h"

void xact_key_choose(const struct mad_conf *conf, struct xact *x); /* before each try */
void xact_key_failed(const struct mad_conf *conf, const struct xact *x);
/* done: the answer's status was 0. */
void xact_key_worked(const struct mad_conf *conf, const struct xact *x, bool done);

#endif
