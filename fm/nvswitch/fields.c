/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fields: names and releases are of NVIDIA/DCGM's history of dcgm_fields.h up to 4.6.0, which gave
 * some other names. A field that is silent on a machine that is well (an NVSwitch's last error) is
 * none of these.
 */
#include <string.h>
#include "fm/nvswitch/fields.h"

#define SEEN_ANY  (1u << 31) /* some metric of DCGM */
#define CARDS	  (1u << NVSWITCH_SYSTEM_OTHER)
#define NO_SWITCH (CARDS | 1u << NVSWITCH_SYSTEM_NVL72) /* NVSwitches are not the host's */

static const struct {
	const char *names[3]; /* any of these; the first is shown */
	const char *since, *unknown;
	uint32_t without; /* systems that have no use for it, by bit */
} fields[] = {
	{ { "P2P_NVLINK_STATUS", "NVLINK_P2P_STATUS", "DCGM_EXP_P2P_STATUS" },
	  "DCGM 4.3",
	  "whether GPUs reach each other by NVLink",
	  CARDS },
	{ { "FABRIC_MANAGER_STATUS" },
	  "DCGM 4.0",
	  "whether the fabric manager has set up the GPUs",
	  CARDS },
	{ { "NVSWITCH_LINK_STATUS", "NVLINK_GET_STATE" },
	  "DCGM 3.1",
	  "which NVLinks are down",
	  NO_SWITCH },
	{ { "NVLINK_GET_STATE" }, "DCGM 4.5", "which NVLinks of GPUs are down", CARDS },
	{ { "NVSWITCH_RESET_REQUIRED" },
	  "DCGM 3.1",
	  "whether an NVSwitch needs a reset, or is gone",
	  NO_SWITCH },
	{ { "GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION" },
	  "DCGM 4.5",
	  "whether the driver wants a GPU reset or a reboot",
	  CARDS },
	{ { "FABRIC_HEALTH_MASK", "FABRIC_HEALTH_SUMMARY" },
	  "DCGM 4.4.2",
	  "whether routes and bandwidth of the NVLink fabric are whole",
	  CARDS },
	{ { "MIG_MODE" }, "DCGM 3", "whether a GPU is out of P2P on purpose (MIG)", CARDS },
};

static bool starts(const struct exposition_text *name, const char *with)
{
	return name->len >= strlen(with) && !memcmp(name->at, with, strlen(with));
}

void fields_note(uint32_t *seen, struct exposition_text name)
{
	if (!starts(&name, "DCGM_"))
		return;
	*seen |= SEEN_ANY;
	if (starts(&name, "DCGM_FI_DEV_")) {
		name.at += strlen("DCGM_FI_DEV_");
		name.len -= strlen("DCGM_FI_DEV_");
	}
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (unsigned n = 0; n < 3 && fields[i].names[n]; n++)
			if (strlen(fields[i].names[n]) == name.len &&
			    !memcmp(fields[i].names[n], name.at, name.len))
				*seen |= 1u << i;
}

json_t *fields_missing(uint32_t seen, enum nvswitch_system system)
{
	json_t *rows = json_array();

	for (unsigned i = 0; (seen & SEEN_ANY) && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!(seen >> i & 1) && !(fields[i].without >> system & 1))
			json_array_append_new(
				rows,
				json_pack("{so ss ss}", "field",
					  json_sprintf("DCGM_FI_DEV_%s", fields[i].names[0]),
					  "since", fields[i].since, "unknown", fields[i].unknown));
	return rows;
}
