/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_registers: registers of NVIDIA's devices, read in-band by AccessRegister (class 0x0A, Get
 * alone). Layouts: the register database of mstflint (GPL-2.0 or OpenIB). Data are the
 * WIRE_GMP_DATA bytes behind the common header: the vendor's key, a word of which block it is, and
 * 220 bytes of the register, whose first block has all that is read here.
 */
#pragma once

#include "fm/mad/wire.h"

#define WIRE_VENDOR		0x0A   /* the class */
#define WIRE_VENDOR_INFO	0x0017 /* its GeneralInfo: what the device can do */
#define WIRE_ACCESS_REGISTER	0x0051 /* modifier: the register */
#define WIRE_VENDOR_INFO_OFFSET 8      /* of GeneralInfo in the data */
#define WIRE_VENDOR_CAPS_OFFSET 136    /* of the first word of its capabilities */

enum wire_register {
	WIRE_REGISTER_PDDR = 0x5031,  /* what a port and its module know of themselves, by pages */
	WIRE_REGISTER_PPCNT = 0x5008, /* counters, by groups */
	/* These go by the device's own numbers of ports, and have no pages. */
	WIRE_REGISTER_PLIB = 0x500A, /* which InfiniBand port that is */
	WIRE_REGISTER_PMLP = 0x5002, /* which lanes of which module it has */
	WIRE_REGISTER_PPCR = 0x504C, /* how many planes it has, of XDR */
};
enum wire_register_page {
	WIRE_PDDR_MODULE = 3,
	WIRE_PDDR_DOWN = 6,
	WIRE_PPCNT_BER = 0x16,
	WIRE_PPCNT_HISTOGRAM = 0x23,
};

/* Of GeneralInfo. True: the device has AccessRegister. */
bool wire_registers_able(const uint8_t data[WIRE_GMP_DATA]);

/*
 * Of GeneralInfo too, from WIRE_VENDOR_INFO_OFFSET on, and the same as in the register MGIR
 * (0x9020): device, firmware, seconds since it started. The short numbers of the firmware count
 * where the wide ones are 0.
 */
/* clang-format off */
#define WIRE_DEVICE_LIST(F, R, G, B)                                                               \
	F(revision, 16) F(device, 16) R(r1, 192) F(up_s, 32)                                       \
	R(r2, 8) F(major, 8) F(minor, 8) F(sub_minor, 8) R(r3, 96) B(psid, 128)                    \
	R(r4, 32) F(wide_major, 32) F(wide_minor, 32) F(wide_sub_minor, 32) R(r5, 128)
/* clang-format on */
#define WIRE_DEVICE_BYTES 96
WIRE_ATTRIBUTE(device, WIRE_DEVICE_LIST, WIRE_DEVICE_BYTES)
/* False: it names no firmware, or the PSID is no text. */
bool wire_device_is_sound(const struct wire_device *device);
/* "31.2014.1010", by which the firmware is known. */
void wire_device_firmware(const struct wire_device *device, char to[32]);

/*
 * The request of a page of PDDR, or of a group of PPCNT, of a port by its InfiniBand number; of
 * another register by the device's own number.
 */
void wire_register_ask(enum wire_register id, uint8_t port, uint8_t page,
		       uint8_t data[WIRE_GMP_DATA]);
/* Which port and page a request or an answer is about. */
void wire_register_about(enum wire_register id, const uint8_t data[WIRE_GMP_DATA], uint8_t *port,
			 uint8_t *page);
/* Of PPCNT: of which plane of the port, in the low 4 bits; 0 = of the whole port. */
static inline uint8_t *wire_register_plane(uint8_t data[WIRE_GMP_DATA])
{
	return data + 18;
}
/* The page: what is behind the register's head. */
static inline uint8_t *wire_register_page(uint8_t data[WIRE_GMP_DATA])
{
	return data + 20;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Why the link went down last. Bit error rates are COEFFICIENT x 10^-MAGNITUDE. */
/* clang-format off */
#define WIRE_DOWN_LIST(F, R, G, B)                                                                 \
	R(r1, 24) F(intent, 4) F(blame, 4)                                                         \
	R(r2, 24) F(local, 8)                                                                      \
	R(r3, 24) F(remote, 8) R(r4, 32)                                                           \
	R(r5, 4) F(raw_coefficient, 4) F(raw_magnitude, 8) R(r6, 144)                              \
	R(r7, 4) F(effective_coefficient, 4) F(effective_magnitude, 8) R(r8, 48)                   \
	R(r9, 4) F(symbol_coefficient, 4) F(symbol_magnitude, 8) R(r10, 16)
/* clang-format on */
#define WIRE_DOWN_BYTES 48
WIRE_ATTRIBUTE(down, WIRE_DOWN_LIST, WIRE_DOWN_BYTES)

enum wire_down_blame { WIRE_BLAME_UNKNOWN, WIRE_BLAME_LOCAL, WIRE_BLAME_REMOTE };
enum { WIRE_INTENT_YES = 1, WIRE_INTENT_NO = 2 };
#define WIRE_DOWN_HIGH_BER  2
#define WIRE_DOWN_UNPLUGGED 23
/* "cable unplugged"; NULL = a number without a name. 0, "none", and 1 are no reason. */
const char *wire_down_reason(unsigned reason);

/*
 * The module in the port: texts are padded, temperatures in 1/256 C, power of the first lane in
 * dBm, both with a sign; 0 = not known. The length is in metres, of modules with CMIS in the low 6
 * bits, times 0.1, 1, 10 or 100.
 */
/* clang-format off */
#define WIRE_MODULE_LIST(F, R, G, B)                                                               \
	R(r1, 32) F(kind, 4) R(r2, 4) F(length, 8) F(identifier, 8) R(r3, 8) R(r4, 96)             \
	B(vendor, 128) B(part, 128) R(r5, 32) F(firmware, 32) B(serial, 128)                       \
	F(temperature, 16) R(r6, 16) F(rx_power, 16) R(r7, 112) F(tx_power, 16) R(r8, 240)         \
	F(hottest, 16) F(coldest, 16)
/* clang-format on */
#define WIRE_MODULE_BYTES 132
WIRE_ATTRIBUTE(module, WIRE_MODULE_LIST, WIRE_MODULE_BYTES)

#define WIRE_MODULE_OPTICAL   2 /* kinds: an end by itself */
#define WIRE_MODULE_PASSIVE   3 /* no light */
#define WIRE_MODULE_UNPLUGGED 4
/* False: a text has bytes that are none, or the module has no serial number, though it is there. */
bool wire_module_is_sound(const struct wire_module *module);
/* Literals: "optical", "OSFP"; NULL = a number without a name. */
const char *wire_module_kind(unsigned kind);
const char *wire_module_identifier(unsigned identifier);
double wire_module_length_m(const struct wire_module *module);
/* The text without what it is padded with. */
void wire_module_text(const uint8_t from[16], char to[17]);

/* Bit errors since the counters were cleared; effective ones are left behind error correction. */
/* clang-format off */
#define WIRE_BER_LIST(F, R, G, B)                                                                  \
	F(cleared_ms, 64) F(bits, 64) F(symbol_errors, 64) F(corrected_bits, 64) R(r1, 512)        \
	R(r2, 16) F(raw_magnitude, 8) R(r3, 4) F(raw_coefficient, 4)                               \
	R(r4, 16) F(effective_magnitude, 8) R(r5, 4) F(effective_coefficient, 4)                   \
	R(r6, 16) F(symbol_magnitude, 8) R(r7, 4) F(symbol_coefficient, 4)                         \
	R(r8, 128) F(effective_errors, 64)
/* clang-format on */
#define WIRE_BER_BYTES 132
WIRE_ATTRIBUTE(ber, WIRE_BER_LIST, WIRE_BER_BYTES)
/* False: more bits than a link carries in that time, or more errors than bits, or no rates. */
bool wire_ber_is_sound(const struct wire_ber *ber);

/* Of PPCR: the planes of each port of the device; 0 = none. */
#define WIRE_PLANES_MOST 4
unsigned wire_planes(const uint8_t data[WIRE_GMP_DATA]);
/* Of PLIB: the InfiniBand port; 0 = none. */
unsigned wire_ib_port(const uint8_t data[WIRE_GMP_DATA]);
/*
 * Of PMLP: "cage 9/1" as HierarchyInfo has it (wire_optional.h): cages from 1, four lanes a port,
 * and which part of them where a port is split. False: no module is mapped to it.
 */
bool wire_cage(const uint8_t data[WIRE_GMP_DATA], char label[40]);

/* Blocks of error correction with no wrong symbol, with one, two and so on. */
#define WIRE_HISTOGRAM_BINS 16
/* False: more blocks than a link carries in its life. */
bool wire_histogram_decode(const uint8_t *page, uint64_t bins[WIRE_HISTOGRAM_BINS]);
