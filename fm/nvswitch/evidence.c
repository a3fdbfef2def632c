/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence: samples as they come, put where they belong: to a GPU, an NVSwitch, a link.
 *
 * dcgm-exporter 4.9 (DCGM 4.7) gave a score of metrics and some labels other names; both generations are taken:
 *
 *   gpu="3" | UUID, uuid, gpu_uuid     modelName | model_name     hostname | Hostname     nvswitch="nvswitch2" | "2"
 *
 * GPU_I_ID marks a GPU that is cut up (MIG). Of series that come twice the worst counts: an exporter with several NVSwitches
 * called them all nvswitch0 for a while, so a repetition also means that nothing can be said about what is absent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/sxid.h"

enum kind {
	XID,
	P2P_BITMAP,
	P2P_PAIR,
	FM_STATUS,
	SUMMARY,
	SWITCH_FATAL,
	SWITCH_NONFATAL,
	SWITCH_RESET,
	LINK_STATUS,
	LINK_FATAL,
	LINK_NONFATAL,
	NMX_LINK_DOWN,
	NMX_BER,
	NMX_SYMBOLS,
};

enum { LINK_OFF = 0, LINK_ERROR = 3 }; /* DCGM's link states */
enum { P2P_OK = 0, P2P_UNKNOWN = 6 };  /* DCGM_EXP_P2P_STATUS */

/* DCGM's without their prefix DCGM_FI_DEV_. */
static const struct {
	const char *name;
	enum kind kind;
} metrics[] = {
	{ "XID_ERRORS", XID },
	{ "XID_ERROR", XID },
	{ "P2P_NVLINK_STATUS", P2P_BITMAP },
	{ "NVLINK_P2P_STATUS", P2P_BITMAP },
	{ "DCGM_EXP_P2P_STATUS", P2P_PAIR },
	{ "FABRIC_MANAGER_STATUS", FM_STATUS },
	{ "FABRIC_HEALTH_SUMMARY", SUMMARY },
	{ "NVSWITCH_FATAL_ERRORS", SWITCH_FATAL },
	{ "SXID_FATAL_ERROR", SWITCH_FATAL },
	{ "NVSWITCH_NON_FATAL_ERRORS", SWITCH_NONFATAL },
	{ "SXID_NON_FATAL_ERROR", SWITCH_NONFATAL },
	{ "NVSWITCH_RESET_REQUIRED", SWITCH_RESET },
	{ "NVSWITCH_LINK_STATUS", LINK_STATUS },
	{ "NVSWITCH_LINK_FATAL_ERRORS", LINK_FATAL },
	{ "NVSWITCH_LINK_FATAL_ERROR", LINK_FATAL },
	{ "NVSWITCH_LINK_NON_FATAL_ERRORS", LINK_NONFATAL },
	{ "NVSWITCH_LINK_NON_FATAL_ERROR", LINK_NONFATAL },
	{ "Link_Down", NMX_LINK_DOWN },
	{ "Effective_BER", NMX_BER },
	{ "Symbol_Errors", NMX_SYMBOLS },
};

static bool drop_prefix(struct exposition_text *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (name->len < len || memcmp(name->at, prefix, len))
		return false;
	name->at += len;
	name->len -= len;
	return true;
}

static int kind_of(void *arg, struct exposition_text name)
{
	if (!drop_prefix(&name, "DCGM_FI_DEV_"))
		drop_prefix(&name, "DCGM_FI_SYSTEM_");
	for (unsigned i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strlen(metrics[i].name) == name.len &&
		    !memcmp(metrics[i].name, name.at, name.len))
			return metrics[i].kind;
	return -1;
}

void evidence_init(struct evidence *e, enum nvswitch_system configured)
{
	*e = (struct evidence){ .configured = configured, .worst_port = -1 };
	for (unsigned i = 0; i < EVIDENCE_SWITCHES; i++)
		e->switches[i].link_fatal_link = -1;
}

/* ---- Labels -------------------------------------------------------------------------------------- */

static struct exposition_text either_label(const struct exposition_sample *s, const char *one,
					   const char *other)
{
	struct exposition_text text = exposition_label(s, one);

	return text.at ? text : exposition_label(s, other);
}

/* The number that a value ends with ("nvswitch2", "2"), -1 = none, or not below `bound`. */
static int trailing_number(struct exposition_text text, unsigned bound)
{
	size_t first = text.len;
	unsigned number = 0;

	while (first > 0 && text.at[first - 1] >= '0' && text.at[first - 1] <= '9')
		first--;
	if (first == text.len || text.len - first > 4)
		return -1;
	for (size_t i = first; i < text.len; i++)
		number = number * 10 + (unsigned)(text.at[i] - '0');
	return number < bound ? (int)number : -1;
}

static void learn_system(struct evidence *e, const struct exposition_sample *s)
{
	struct exposition_text model = either_label(s, "modelName", "model_name");
	char text[64];

	if (!model.at || e->learnt != NVSWITCH_SYSTEM_AUTO)
		return;
	exposition_copy(model, text, sizeof(text));
	e->learnt = nvswitch_system_of_model(text);
}

static void learn_host(struct evidence *e, const struct exposition_sample *s)
{
	struct exposition_text host;

	if (*e->host)
		return;
	host = either_label(s, "hostname", "Hostname");
	if (host.at)
		exposition_copy(host, e->host, sizeof(e->host));
	for (char *p = e->host; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '?'; /* it is shown */
}

static struct evidence_gpu *gpu_of(struct evidence *e, const struct exposition_sample *s)
{
	int number = trailing_number(exposition_label(s, "gpu"), EVIDENCE_GPUS);
	struct evidence_gpu *gpu;

	if (number < 0)
		return NULL;
	gpu = &e->gpus[number];
	gpu->seen = true;
	gpu->mig |= exposition_label(s, "GPU_I_ID").len > 0;
	return gpu;
}

static struct evidence_switch *switch_of(struct evidence *e, const struct exposition_sample *s)
{
	int number = trailing_number(exposition_label(s, "nvswitch"), EVIDENCE_SWITCHES);

	return number < 0 ? NULL : &e->switches[number];
}

/* ---- Samples ------------------------------------------------------------------------------------- */

static uint32_t whole(double value)
{
	return value >= 1 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* A status of a few values: 255 = none of them. */
static uint8_t status_of(double value)
{
	return value >= 0 && value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static void take_xid(struct evidence_gpu *gpu, uint32_t xid)
{
	if (xid && xid_state(xid) >= xid_state(gpu->xid))
		gpu->xid = xid;
}

static void take_bitmap(struct evidence_gpu *gpu, double value)
{
	uint64_t peers = whole(value);

	if (value < 0)
		return;
	gpu->p2p = gpu->p2p_seen ? gpu->p2p & peers : peers;
	gpu->p2p_seen = true;
}

static void take_fm_status(struct evidence_gpu *gpu, uint8_t status)
{
	gpu->fm_seen = true;
	if (gpu->fm_status != EVIDENCE_FM_FAILURE)
		gpu->fm_status = status;
}

/* Unhealthy, then limited, then anything else. */
static void take_summary(struct evidence_gpu *gpu, uint8_t summary)
{
	if (summary == EVIDENCE_UNHEALTHY || gpu->summary < EVIDENCE_UNHEALTHY)
		gpu->summary = summary;
}

static void take_gpu(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	struct evidence_gpu *gpu = gpu_of(e, s);

	if (!gpu)
		return;
	if (kind == XID)
		take_xid(gpu, whole(s->value));
	else if (kind == P2P_BITMAP)
		take_bitmap(gpu, s->value);
	else if (kind == P2P_PAIR)
		gpu->lost_pair |= s->value > P2P_OK && s->value < P2P_UNKNOWN;
	else if (kind == FM_STATUS)
		take_fm_status(gpu, status_of(s->value));
	else if (kind == SUMMARY)
		take_summary(gpu, status_of(s->value));
}

/* The graver of two errors; between equals the newer. */
static void take_sxid(uint32_t *kept, uint32_t sxid)
{
	if (sxid && sxid_class(sxid) >= sxid_class(*kept))
		*kept = sxid;
}

static void take_switch(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	struct evidence_switch *sw = switch_of(e, s);

	if (!sw)
		return;
	if (kind == SWITCH_FATAL) {
		e->repeated |= sw->seen;
		sw->seen = true;
		take_sxid(&sw->fatal, whole(s->value));
	} else if (kind == SWITCH_NONFATAL) {
		take_sxid(&sw->nonfatal, whole(s->value));
	} else {
		sw->reset_required |= s->value > 0;
	}
}

static void take_link_status(struct evidence *e, struct evidence_switch *sw, int link, double value)
{
	uint64_t bit = 1ull << link % 64;

	e->repeated |= (sw->links_seen[link / 64] & bit) != 0;
	sw->links_seen[link / 64] |= bit;
	if (value == LINK_OFF || value == LINK_ERROR)
		sw->links_down[link / 64] |= bit;
}

static void take_link(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	int link = trailing_number(exposition_label(s, "nvlink"), EVIDENCE_LINKS);
	struct evidence_switch *sw = switch_of(e, s);

	if (link < 0 || !sw)
		return;
	if (kind == LINK_STATUS) {
		take_link_status(e, sw, link, s->value);
	} else if (kind == LINK_FATAL && whole(s->value)) {
		take_sxid(&sw->link_fatal, whole(s->value));
		sw->link_fatal_link = (int16_t)link;
	}
}

static void take_nmx(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	e->nmx = true;
	if (kind == NMX_LINK_DOWN && s->value > 0 && s->value < 1e15)
		e->link_downs += (uint64_t)s->value;
	if (kind == NMX_BER && s->value > e->worst_ber) {
		e->worst_ber = s->value;
		e->worst_port = (int16_t)trailing_number(exposition_label(s, "Port_Number"), 1024);
	}
}

static void take_sample(void *arg, int kind, const struct exposition_sample *s)
{
	struct evidence *e = arg;

	if (isnan(s->value))
		return;
	e->samples++;
	learn_host(e, s);
	learn_system(e, s);
	if (kind <= SUMMARY)
		take_gpu(e, (enum kind)kind, s);
	else if (kind <= SWITCH_RESET)
		take_switch(e, (enum kind)kind, s);
	else if (kind <= LINK_NONFATAL)
		take_link(e, (enum kind)kind, s);
	else
		take_nmx(e, (enum kind)kind, s);
}

const struct exposition_ops evidence_ops = { kind_of, take_sample };
