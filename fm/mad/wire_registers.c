/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_format.h"
#include "fm/mad/wire_registers.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define CAP_ACCESS_REGISTER 20
#define REGISTER	    12 /* of the data */
#define LANES		    4  /* of a port that is not split */
/* The head: the port, how that is numbered, and the page of PDDR, or the group of others. */
#define PORT_AT	     (REGISTER + 1)
#define NUMBERING_AT (REGISTER + 2)
#define PAGE_AT(id)  (REGISTER + ((id) == WIRE_REGISTER_PDDR ? 7 : 3))

WIRE_FORMAT(down, uint8_t[WIRE_DOWN_BYTES], WIRE_DOWN_LIST)
WIRE_CODEC(down, WIRE_DOWN_BYTES)
WIRE_FORMAT(module, uint8_t[WIRE_MODULE_BYTES], WIRE_MODULE_LIST)
WIRE_CODEC(module, WIRE_MODULE_BYTES)
WIRE_FORMAT(ber, uint8_t[WIRE_BER_BYTES], WIRE_BER_LIST)
WIRE_CODEC(ber, WIRE_BER_BYTES)
WIRE_FORMAT(device, uint8_t[WIRE_DEVICE_BYTES], WIRE_DEVICE_LIST)
WIRE_CODEC(device, WIRE_DEVICE_BYTES)

bool wire_registers_able(const uint8_t data[WIRE_GMP_DATA])
{
	return wire_get(data + WIRE_VENDOR_CAPS_OFFSET, 4) >> CAP_ACCESS_REGISTER & 1;
}

void wire_register_ask(enum wire_register id, uint8_t port, uint8_t page,
		       uint8_t data[WIRE_GMP_DATA])
{
	bool by_ib_number = id == WIRE_REGISTER_PDDR || id == WIRE_REGISTER_PPCNT;

	memset(data, 0, WIRE_GMP_DATA);
	data[PORT_AT] = port;
	data[NUMBERING_AT] = by_ib_number << 6;
	data[PAGE_AT(id)] |= page;
}

void wire_register_about(enum wire_register id, const uint8_t data[WIRE_GMP_DATA], uint8_t *port,
			 uint8_t *page)
{
	*port = data[PORT_AT];
	*page = data[PAGE_AT(id)] & (id == WIRE_REGISTER_PDDR ? 255 : 63);
}

unsigned wire_planes(const uint8_t data[WIRE_GMP_DATA])
{
	unsigned planes = data[REGISTER + 15];

	return planes <= WIRE_PLANES_MOST ? planes : 0;
}

unsigned wire_ib_port(const uint8_t data[WIRE_GMP_DATA])
{
	return wire_get(data + REGISTER + 2, 2) & 0x3ff;
}

bool wire_cage(const uint8_t data[WIRE_GMP_DATA], char label[40])
{
	const uint8_t *lane =
		data + REGISTER + 4; /* the first: rx, tx, sub-module and slot, module */
	unsigned width = data[REGISTER + 3], first = (lane[1] & 15) + (lane[2] >> 4) * 8;

	if (!width || width > 8 || width & (width - 1))
		return false;
	*label = '\0';
	if (lane[2] & 15)
		text_add(label, 40, "slot %u ", lane[2] & 15);
	text_add(label, 40, "cage %u/%u", lane[3] + 1, first / LANES + 1);
	if (width < LANES)
		text_add(label, 40, "/%u", first % LANES / width + 1);
	return true;
}

/* ---- Modules --------------------------------------------------------------------------------- */

#define CMIS 0x5e0u /* identifiers, by bit */

void wire_module_text(const uint8_t from[16], char to[17])
{
	char text[17] = { 0 };

	memcpy(text, from, 16);
	strcpy(to, words_trim(text));
}

/* Letters, padded with 0 or blanks. */
static bool is_text(const uint8_t text[16])
{
	for (unsigned i = 0, end = 0; i < 16; i++) {
		uint8_t c = text[i];

		end |= !c;
		if (end ? c && c != ' ' : c < ' ' || c > '~')
			return false;
	}
	return true;
}

bool wire_module_is_sound(const struct wire_module *module)
{
	char serial[17];

	wire_module_text(module->serial, serial);
	return is_text(module->vendor) && is_text(module->part) && is_text(module->serial) &&
	       (module->kind == WIRE_MODULE_UNPLUGGED ||
		(*serial && wire_module_kind(module->kind)));
}

double wire_module_length_m(const struct wire_module *module)
{
	static const unsigned tenths[] = { 1, 10, 100, 1000 };

	if (module->identifier < 32 && CMIS >> module->identifier & 1)
		return (module->length & 63) * tenths[module->length >> 6] / 10.0;
	return module->length;
}

/* ---- Devices, bit errors --------------------------------------------------------------------- */

#define BITS_A_MS_MOST 4000000000u
#define CLEARED_MS     1000 /* by which clocks of the same register may differ */
#define CLEARED_MOST   (1ull << 40)
#define BLOCKS_MOST    (1ull << 60)

bool wire_device_is_sound(const struct wire_device *device)
{
	return is_text(device->psid) && device->wide_major <= UINT16_MAX &&
	       device->wide_minor <= UINT16_MAX && device->wide_sub_minor <= UINT16_MAX &&
	       (device->wide_major || device->major);
}

void wire_device_firmware(const struct wire_device *device, char to[32])
{
	bool wide = device->wide_major;

	snprintf(to, 32, "%u.%u.%04u", wide ? device->wide_major : device->major,
		 wide ? device->wide_minor : device->minor,
		 wide ? device->wide_sub_minor : device->sub_minor);
}

bool wire_ber_is_sound(const struct wire_ber *ber)
{
	return ber->raw_magnitude && ber->effective_magnitude &&
	       ber->bits / BITS_A_MS_MOST <= ber->cleared_ms + CLEARED_MS &&
	       ber->cleared_ms < CLEARED_MOST && ber->symbol_errors <= ber->bits &&
	       ber->corrected_bits <= ber->bits && ber->effective_errors <= ber->bits;
}

bool wire_histogram_decode(const uint8_t *page, uint64_t bins[WIRE_HISTOGRAM_BINS])
{
	bool sound = true;

	for (unsigned i = 0; i < WIRE_HISTOGRAM_BINS; i++) {
		bins[i] = wire_get(page + 8 * i, 8);
		sound &= bins[i] < BLOCKS_MOST;
	}
	return sound;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *name_of(const char *const *names, size_t count, unsigned number)
{
	return number < count ? names[number] : NULL;
}

const char *wire_module_kind(unsigned kind)
{
	static const char *const names[] = {
		"unidentified", "active", "optical", "passive copper", "unplugged", "twisted pair",
		"CPO",		"OE",	  "ELS"
	};

	return name_of(names, ARRAY_SIZE(names), kind);
}

const char *wire_module_identifier(unsigned identifier)
{
	static const char *const names[] = { "QSFP28",	  "QSFP+",  "SFP28",   "QSA",
					     "backplane", "SFP-DD", "QSFP-DD", "QSFP-CMIS",
					     "OSFP",	  "C2C",    "DSFP",    "QSFP split",
					     "CPO",	  "OE",	    "ELS" };

	return name_of(names, ARRAY_SIZE(names), identifier);
}

const char *wire_down_reason(unsigned reason)
{
	static const char *const names[] = {
		[0] = "none",
		[1] = "unknown",
		[WIRE_DOWN_HIGH_BER] = "high BER",
		[3] = "block lock lost",
		[4] = "alignment lost",
		[5] = "FEC synchronisation lost",
		[6] = "PLL lock lost",
		[7] = "FIFO overflow",
		[8] = "false SKIP condition",
		[9] = "minor error threshold exceeded",
		[10] = "physical layer retransmission time-out",
		[11] = "heartbeat errors",
		[12] = "credit watchdog of the link layer",
		[13] = "link integrity threshold exceeded",
		[14] = "buffer overrun",
		[15] = "down by out-of-band command, link healthy",
		[16] = "down by out-of-band command, link with high BER",
		[17] = "down by in-band command, link healthy",
		[18] = "down by in-band command, link with high BER",
		[19] = "verification of the link failed",
		[20] = "remote fault received",
		[21] = "TS1 received",
		[22] = "down by management command",
		[WIRE_DOWN_UNPLUGGED] = "cable unplugged",
		[24] = "cable access failed",
		[25] = "cable thermal shutdown",
		[26] = "cable current too high",
		[27] = "cable exceeds power budget",
		[28] = "fast recovery by raw BER",
		[29] = "fast recovery by effective BER",
		[30] = "fast recovery by symbol BER",
		[31] = "fast recovery by credit watchdog",
		[32] = "peer went to sleep",
		[33] = "peer disabled by command",
		[34] = "peer disabled and locked",
		[35] = "peer thermal event",
		[36] = "peer forced down",
		[37] = "peer reset",
		[38] = "port reset",
		[39] = "physical layer retransmission triggered recovery",
		[40] = "forced down by hardware",
		[42] = "exit from L1 failed",
		[43] = "too many link recoveries",
		[44] = "contain mode",
		[45] = "bandwidth loss",
		[46] = "laser fault",
		[47] = "high symbol error rate",
		[48] = "down by NMX administrator",
		[49] = "high BER during guard time",
		[50] = "local fault",
		[51] = "interruption",
		[52] = "debug command",
		[53] = "recovery command",
	};

	return name_of(names, ARRAY_SIZE(names), reason);
}
