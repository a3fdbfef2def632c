/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/os/service_status.h"
#include <stdlib.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>
#include "topology/base/mem.h"
#include "topology/base/text.h"

void service_status(const json_t *status, char text[SERVICE_STATUS])
{
	const char *state = json_text(status, "state");
	const char *cut_off = json_text(status, "cut_off");
	const json_t *proof = json_object_get(status, "proof");
	json_int_t unreachable = json_number(proof, "unreachable");
	size_t i, alerts = 0;
	const json_t *alert;

	json_array_foreach (json_object_get(status, "alerts"), i, alert) {
		const char *what = json_text(alert, "what");

		/* hcas-cut-off has a sentence of its own and is not counted. */
		alerts += !what || strcmp(what, "hcas-cut-off") != 0;
	}
	strcpy(text, "STATUS=");
	if (cut_off)
		text_add(text, SERVICE_STATUS, "%.160s; ", cut_off);
	if (unreachable)
		text_add(text, SERVICE_STATUS, "%" JSON_INTEGER_FORMAT " port pairs unreachable; ",
			 unreachable);
	if (json_number(proof, "loops") || json_number(proof, "bad_ports") ||
	    json_number(proof, "credit_cycles"))
		text_add(text, SERVICE_STATUS, "errors in the forwarding tables; ");
	text_add(text, SERVICE_STATUS, "%s", state ? state : "unknown");
	if (alerts)
		text_add(text, SERVICE_STATUS, ", %zu %s", alerts,
			 words_plural(alerts, "alert", "alerts"));
	text_add(text, SERVICE_STATUS,
		 ": %" JSON_INTEGER_FORMAT " HCAs, %" JSON_INTEGER_FORMAT
		 " switches, %" JSON_INTEGER_FORMAT " links down",
		 json_number(status, "hcas"), json_number(status, "switches"),
		 json_number(status, "links_down"));
}

/* ---- Descriptors that are kept --------------------------------------------------------------- */

/* Those that this process began with; "" = asked for. */
static char **kept_names;
static int kept_count = -1;

static bool is_service(void)
{
	return getenv("NOTIFY_SOCKET");
}

int service_kept(struct helper *helper, const char *name)
{
	if (!is_service())
		return helper ? helper_take(helper, name) : -1;
	if (kept_count < 0)
		kept_count = sd_listen_fds_with_names(1, &kept_names);
	for (int i = 0; i < kept_count; i++)
		if (*name && !strcmp(kept_names[i], name)) {
			*kept_names[i] = '\0';
			return SD_LISTEN_FDS_START + i;
		}
	return -1;
}

void service_keep(struct helper *helper, const char *name, int fd)
{
	char text[128];

	array_printf(text, "FDSTORE=1\nFDNAME=%s", name);
	if (is_service())
		sd_pid_notify_with_fds(0, 0, text, &fd, 1);
	else if (helper)
		helper_keep(helper, name, fd);
}

void service_drop(struct helper *helper, const char *name)
{
	char text[128];

	array_printf(text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
	if (is_service())
		sd_notify(0, text);
	else if (helper)
		helper_keep(helper, name, -1);
}

void service_drop_rest(struct helper *helper)
{
	for (int i = 0; i < kept_count; i++)
		if (*kept_names[i]) {
			service_drop(helper, kept_names[i]);
			close(SD_LISTEN_FDS_START + i);
			*kept_names[i] = '\0';
		}
	if (!is_service())
		service_drop(helper, "");
}
