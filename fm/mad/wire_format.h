/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_format: what decodes and encodes an attribute by the list of its fields (WIRE_ATTRIBUTE in
 * wire.h); for wire*.c alone.
 *
 *   WIRE_FORMAT(thing, ib_thing_t, WIRE_THING)
 *   WIRE_CODEC(thing, 64)
 *
 * The library's structure says how long the list is. That makes thing_get(data, &out), which sets
 * each member of a struct wire_thing that has a field's name and all others to 0, and
 * thing_put(&in, data), which sets the fields in data whose bits are 0. With them WIRE_CODEC makes
 * wire_thing_decode() and wire_thing_encode(). The compiler sees each offset as a constant.
 */
#pragma once

#include <string.h>
#include "fm/mad/wire_sa.h"

#define WIRE_INLINE static inline __attribute__((always_inline))

/* Of 64 bits at most, within 8 bytes. */
WIRE_INLINE uint64_t wire_bits_get(const uint8_t *data, unsigned first, unsigned bits)
{
	unsigned end = first + bits, bytes = (end + 7) / 8 - first / 8;

	return wire_get(data + first / 8, bytes) >> (8 - end % 8) % 8 & UINT64_MAX >> (64 - bits);
}

/* Over bits that are 0. */
WIRE_INLINE void wire_bits_put(uint8_t *data, unsigned first, unsigned bits, uint64_t value)
{
	unsigned end = first + bits, bytes = (end + 7) / 8 - first / 8;
	uint8_t *at = data + first / 8;

	wire_put(at, bytes,
		 wire_get(at, bytes) | (value & UINT64_MAX >> (64 - bits)) << (8 - end % 8) % 8);
}

/* In the list's struct a member's offset and size are the field's, in bits. */
#define WIRE_AT(member)		  offsetof(format, member)
#define WIRE_MEMBER(member, bits) char member[bits];
#define WIRE_GET_F(member, bits)  out->member = wire_bits_get(data, WIRE_AT(member), bits);
#define WIRE_PUT_F(member, bits)  wire_bits_put(data, WIRE_AT(member), bits, in->member);
#define WIRE_RESERVED(member, bits)
#define WIRE_GET_G(member, bits) out->member = wire_gid_decode(data + WIRE_AT(member) / 8);
#define WIRE_PUT_G(member, bits) wire_gid_encode(&in->member, data + WIRE_AT(member) / 8);
#define WIRE_GET_B(member, bits) memcpy(out->member, data + WIRE_AT(member) / 8, bits / 8);
#define WIRE_PUT_B(member, bits) memcpy(data + WIRE_AT(member) / 8, in->member, bits / 8);

#define WIRE_FORMAT(name, type, LIST)                                                              \
	struct wire_##name##_format {                                                              \
		LIST(WIRE_MEMBER, WIRE_MEMBER, WIRE_MEMBER, WIRE_MEMBER)                           \
	};                                                                                         \
	_Static_assert(sizeof(struct wire_##name##_format) == 8 * sizeof(type), #name);            \
	static inline void name##_get(const uint8_t *data, struct wire_##name *out)                \
	{                                                                                          \
		typedef struct wire_##name##_format format;                                        \
                                                                                                   \
		*out = (struct wire_##name){ 0 };                                                  \
		LIST(WIRE_GET_F, WIRE_RESERVED, WIRE_GET_G, WIRE_GET_B)                            \
	}                                                                                          \
	static inline void name##_put(const struct wire_##name *in, uint8_t *data)                 \
	{                                                                                          \
		typedef struct wire_##name##_format format;                                        \
                                                                                                   \
		LIST(WIRE_PUT_F, WIRE_RESERVED, WIRE_PUT_G, WIRE_PUT_B)                            \
	}

#define WIRE_CODEC(name, bytes)                                                                    \
	void wire_##name##_decode(const uint8_t data[bytes], struct wire_##name *out)              \
	{                                                                                          \
		name##_get(data, out);                                                             \
	}                                                                                          \
	void wire_##name##_encode(const struct wire_##name *in, uint8_t data[bytes])               \
	{                                                                                          \
		memset(data, 0, bytes);                                                            \
		name##_put(in, data);                                                              \
	}
