/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* kernel_mad: the bytes of a MAD that the kernel looks at. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define KMAD	     256
#define KMETHODS     128
#define METHOD_RESP  0x80
#define AT_CLASS     1 /* bytes of a MAD (IBA 13.4.2, 13.6.2.1) */
#define AT_VERSION   2
#define AT_METHOD    3
#define AT_STATUS    4
#define AT_TID	     8
#define AT_RMPP_VERS 24
#define AT_RMPP_TYPE 25
#define AT_RMPP_FLAG 26
#define AT_RMPP_STAT 27
#define AT_RMPP_SEG  28
#define AT_RMPP_LEN  32
#define RMPP_HEADER  36
#define AT_OUI	     37

uint32_t get32(const uint8_t *p);
void put32(uint8_t *p, uint32_t value);
bool mad_is_response(const uint8_t *mad);
unsigned mad_header_of(uint8_t mgmt_class);
bool class_has_rmpp(uint8_t mgmt_class);
bool class_is_vendor2(uint8_t mgmt_class); /* of vendors' second range, told apart by OUI */
