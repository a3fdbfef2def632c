/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_adaptive.h"

enum { /* GeneralInfo: capability n is bit n % 32 of the big-endian word n / 32 */
       CAPS_BYTE = 3,
       CAP_PRIVATE_LFT = 1 << 0,
       CAP_ADAPTIVE = 1 << 2,
       CAPS_BYTE_16 = 1, /* capabilities 16 to 23 */
       CAP_AGGREGATION = 1 << (18 - 16),
};
enum { /* PrivateLFTInfo */
       MODE_BYTE = 3,
};
enum { /* AdaptiveRoutingInfo */
       ENABLE_BYTE = 3,
       ENABLED = 1 << 0,
       FAST_RECOVERY = 1 << 4,
       NOTIFICATIONS = 1 << 5,
       HASH_BYTE = 22,
       PFRN = 1 << 4,
       WHBF = 1 << 6,
       HBF = 1 << 7,
};
#define ENABLE_BITS (ENABLED | FAST_RECOVERY | NOTIFICATIONS)
#define HASH_BITS   (PFRN | WHBF | HBF)

bool wire_adaptive_vendor(uint32_t vendor)
{
	return vendor == 0x0002c9 || vendor == 0x0008f1;
}

bool wire_has_private_lft(const uint8_t caps[64])
{
	return caps[CAPS_BYTE] & CAP_PRIVATE_LFT;
}

bool wire_has_adaptive(const uint8_t caps[64])
{
	return caps[CAPS_BYTE] & CAP_ADAPTIVE;
}

bool wire_is_aggregation_node(const uint8_t caps[64])
{
	return caps[CAPS_BYTE_16] & CAP_AGGREGATION;
}

bool wire_private_lft_on(const uint8_t info[64])
{
	return info[MODE_BYTE] != 0;
}

void wire_private_lft_off(uint8_t info[64])
{
	info[MODE_BYTE] = 0;
}

bool wire_adaptive_on(const uint8_t info[64])
{
	return (info[ENABLE_BYTE] & ENABLE_BITS) || (info[HASH_BYTE] & HASH_BITS);
}

void wire_adaptive_off(uint8_t info[64])
{
	info[ENABLE_BYTE] &= (uint8_t)~ENABLE_BITS;
	info[HASH_BYTE] &= (uint8_t)~HASH_BITS;
}
