/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * m_key_proof: how two managers compare what M_Keys they give to ports, without saying it.
 *
 * A proof is FORM:DIGEST. FORM says which ports have keys of it: "port" each its own, "all" the
 * same one, "any" one of these, of before. DIGEST is HMAC-SHA256 (RFC 2104), in hexadecimal, under
 * the secret, or under the 8 bytes of an m_key, big-endian, over a kind and the bytes of a session
 * that both ends have and nobody else has (TLS exporter, RFC 8446 7.5): it is of no use in another
 * session, nor to who only listens. Who is at the other end can try m_keys by it: they are those of
 * each host's port anyway. A secret file has 16 bytes at least.
 */
#ifndef FMD_CONF_M_KEY_PROOF_H
#define FMD_CONF_M_KEY_PROOF_H

#include "fm/conf/m_keys.h"

#define M_KEY_SESSION 32 /* bytes */
#define M_KEY_PROOFS  3	 /* the wanted one, an old secret, an old key */

struct m_key_proofs {
	unsigned count; /* 0 = no keys are known */
	bool gives;	/* the first is of what ports are to hold; else they are to hold none */
	char text[M_KEY_PROOFS][5 + 64 + 1];
};

/* What a manager says that has these keys, in that session. */
void m_key_prove(const struct m_key_conf *conf, const uint8_t session[M_KEY_SESSION],
		 struct m_key_proofs *proofs);
/* True: each of the two could take over from the other, for it has the keys that ports hold. */
bool m_key_proofs_agree(const struct m_key_proofs *a, const struct m_key_proofs *b);

#endif
