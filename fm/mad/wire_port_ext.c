/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_port_ext.h"
#include <string.h>

#define CAP_FEC 0x01 /* of byte 3: bit 0 of CapabilityMask */

enum {
	CAPMASK_END = 3,
	ACTIVE = 4,
	SPEEDS = 6,	 /* FDR's supported modes, its enabled ones, EDR's .. */
	SPEED_BYTES = 4, /* of one speed */
};

static uint16_t get_word(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void put_word(uint16_t value, uint8_t *at)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

bool wire_port_ext_decode(const uint8_t data[64], struct wire_port_ext *out)
{
	*out = (struct wire_port_ext){ .has_fec = data[CAPMASK_END] & CAP_FEC,
				       .active = get_word(data + ACTIVE) };
	for (unsigned i = 0; i < WIRE_EXT_SPEEDS; i++) {
		out->supported[i] = get_word(data + SPEEDS + SPEED_BYTES * i);
		out->enabled[i] = get_word(data + SPEEDS + SPEED_BYTES * i + 2);
	}
	return !out->has_fec || out->active < WIRE_FEC_MODES;
}

void wire_port_ext_encode(const struct wire_port_ext *in, uint8_t data[64])
{
	memset(data, 0, 64);
	data[CAPMASK_END] = in->has_fec ? CAP_FEC : 0;
	put_word(in->active, data + ACTIVE);
	for (unsigned i = 0; i < WIRE_EXT_SPEEDS; i++) {
		put_word(in->supported[i], data + SPEEDS + SPEED_BYTES * i);
		put_word(in->enabled[i], data + SPEEDS + SPEED_BYTES * i + 2);
	}
}

enum wire_ext_speed wire_port_ext_speed(enum topo_speed speed)
{
	switch (speed) {
	case TOPO_FDR:
		return WIRE_EXT_FDR;
	case TOPO_EDR:
		return WIRE_EXT_EDR;
	case TOPO_HDR:
		return WIRE_EXT_HDR;
	case TOPO_NDR:
		return WIRE_EXT_NDR;
	default:
		return WIRE_EXT_SPEEDS;
	}
}

const char *wire_fec_mode_name(unsigned mode)
{
	static const char *const names[WIRE_FEC_MODE_NAMED] = { "none", "firecode", "rs-528-514",
								"rs-271-257", "rs-544-514" };

	return mode < WIRE_FEC_MODE_NAMED ? names[mode] : NULL;
}
