/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * text: names as people and machines on the fabric write them, made safe to show.
 *
 * A NodeDescription (IBA 14.2.5.2) is 64 bytes that anybody with a port may choose. It reaches
 * terminals, JSON, topology files, the scheduler and hooks, so it is cleaned once, where it enters;
 * everything behind that relies on it.
 */
#ifndef FMD_TOPOLOGY_BASE_TEXT_H
#define FMD_TOPOLOGY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies `len` bytes, or fewer if a zero byte comes first, to `to`, which has room for len + 1.
 * What is well-formed UTF-8 (RFC 3629) stays. Each byte that is not, and each control (C0, DEL,
 * C1), line or paragraph separator, bidirectional or zero-width mark becomes one '.'. `to` may be
 * `from`: a result is never longer.
 */
void text_clean(const char *from, size_t len, char *to);

/*
 * Whether a name may be given to a scheduler, a hook or a URL as a host's: letters, digits, '-',
 * '.' and '_', the first a letter or digit, 253 characters at most (RFC 1123). Not a GUID ("0x.."),
 * and no word that a scheduler takes for more than one host (ALL, DEFAULT).
 */
bool text_is_host_name(const char *name);

#endif
