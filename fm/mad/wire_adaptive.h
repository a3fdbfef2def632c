/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_adaptive: what NVIDIA's switches say of adaptive routing, and how it is turned off. Layouts:
 * ib_types.h of NVIDIA's OpenSM 5.2x (GPL-2.0 or OpenIB). Reserved fields go back as they were
 * read.
 */
#ifndef FMD_MAD_WIRE_ADAPTIVE_H
#define FMD_MAD_WIRE_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WIRE_PRIVATE_LFT_INFO = 0xFF10,
	WIRE_GENERAL_INFO = 0xFF17, /* modifier 4: the capability mask */
	WIRE_ADAPTIVE_INFO = 0xFF20,
};
#define WIRE_GENERAL_CAPS 4

/* True for the VendorIDs whose devices are asked for these attributes: NVIDIA's. */
bool wire_adaptive_vendor(uint32_t vendor);

/* Of GeneralInfo: private LFTs (capability 0), adaptive routing revision 1 (capability 2). */
bool wire_has_private_lft(const uint8_t caps[64]);
bool wire_has_adaptive(const uint8_t caps[64]);
/* Of a CA's: it is a SHARP aggregation node (capability 18). */
bool wire_is_aggregation_node(const uint8_t caps[64]);

/* A mode of PrivateLFTInfo other than 0 is in force. */
bool wire_private_lft_on(const uint8_t info[64]);
void wire_private_lft_off(uint8_t info[64]);

/*
 * True: AdaptiveRoutingInfo has any of adaptive routing, fast recovery, routing notifications (RN,
 * pFRN) and hash-based forwarding (HBF, WHBF) on. wire_adaptive_off() clears these bits alone.
 */
bool wire_adaptive_on(const uint8_t info[64]);
void wire_adaptive_off(uint8_t info[64]);

#endif
