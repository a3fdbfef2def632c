/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fec_mode: which forward error correction a port uses, as it has told (fm/perf/fec_modes.h). */
#ifndef FMD_PERF_FEC_MODE_H
#define FMD_PERF_FEC_MODE_H

#include "fm/mad/wire_optional.h"

enum fec_state { FEC_UNASKED, FEC_ASKED, FEC_KNOWN, FEC_UNKNOWN };

struct fec_mode {			 /* of a port; zeroed = was never asked */
	guid_t peer;			 /* the link that it is of: its far end, .. */
	uint8_t peer_port, speed, lanes; /* ..and what it runs at */
	uint8_t state;			 /* enum fec_state; the rest counts where it is FEC_KNOWN */
	uint8_t lost;			 /* requests without an answer */
	uint8_t active;			 /* FECModeActive: a number below WIRE_FEC_MODES */
	uint16_t supported, enabled;	 /* at the speed of the link, 1 << number; 0 = none said */
};

/* Its name, or "mode-7" where it has none. */
struct fec_name {
	char text[16];
};
/* Of a number from FECModeActive, whatever it is. */
struct fec_name fec_mode_name(unsigned mode);

#endif
