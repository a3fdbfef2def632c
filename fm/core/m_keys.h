/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * m_keys: which M_Key a port is to hold (IBA 14.2.4), and which others it may hold.
 *
 * The key is one of all ports, or derived from a secret: the first 8 bytes, big-endian, of
 * HMAC-SHA256 (RFC 2104) over the 8 bytes of a GUID, big-endian, under the secret. The GUID is that
 * of the port, a switch's that of the node; 0 where all ports are to have one key.
 */
#ifndef FMD_CORE_M_KEYS_H
#define FMD_CORE_M_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "topology/topo.h"

#define M_KEY_SECRET_LEAST 16 /* bytes of a secret file, but for white space at its end.. */
#define M_KEY_SECRET_MOST  1024
#define M_KEYS_MOST	   4 /* that a port may hold */

struct m_key_secret {
	bool set;
	uint16_t length;
	uint8_t bytes[M_KEY_SECRET_MOST];
};

/* All zero: ports hold no key. */
struct m_key_conf {
	uint64_t key, old_key;			/* of all ports; 0 = none */
	struct m_key_secret secret, old_secret; /* `secret` goes before `key` */
	bool per_port;				/* of `secret`; old_secret counts in both forms */
	uint8_t protect;			/* M_KeyProtectBits, 0..3 */
};

/* NULL, or what is wrong with that file; a literal. Nobody but its owner may have access to it. */
const char *m_key_secret_read(const char *path, struct m_key_secret *secret);
bool m_key_conf_any(const struct m_key_conf *conf); /* ports are to hold one */
/* Whether who goes by `next` knows what ports hold that `now` gave their keys. */
bool m_key_conf_knows(const struct m_key_conf *next, const struct m_key_conf *now);
struct m_keys;
struct m_keys *m_keys_new(void); /* no keys */
void m_keys_free(struct m_keys *keys);
void m_keys_configure(struct m_keys *keys, const struct m_key_conf *conf);
const struct m_key_conf *m_keys_conf(const struct m_keys *keys);

/* Of these `keys` may be NULL: there are none. */
uint64_t m_keys_wanted(const struct m_keys *keys, guid_t guid); /* 0 = none */
/* All that it may hold, each once, the wanted one first; how many. */
unsigned m_keys_of(const struct m_keys *keys, guid_t guid, uint64_t list[M_KEYS_MOST]);
bool m_keys_may_be(const struct m_keys *keys, guid_t guid, uint64_t key); /* one of these */
bool m_keys_change(const struct m_keys *keys); /* ports may hold others than those wanted */

#endif
