/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/kernel_world.h"

void kernel_world_init(struct kernel_world *w)
{
	double_world_init(&w->base, NULL);
	double_world_bring_up(&w->base);
	w->k = kernel_new(w->base.loop, w->base.d);
}

void kernel_world_fini(struct kernel_world *w)
{
	kernel_free(w->k);
	double_world_fini(&w->base);
}

void end_deliver(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len)
{
	struct kernel_end *end = arg;
	struct ib_user_mad back = *head;

	end->got++;
	end->head = *head;
	end->mad = mem_resize(end->mad, len, 1);
	memcpy(end->mad, mad, len);
	end->len = len;
	if (!end->answers || head->status || mad_is_response(mad))
		return;
	end->mad[3] |= 0x80;
	back.timeout_ms = back.retries = 0;
	assert_int_equal(kfile_write(end->f, &back, end->mad, len), 0);
}

void end_gone(void *arg)
{
	((struct kernel_end *)arg)->gone = true;
}

static void end_done(void *arg, const uint8_t *mad)
{
	((struct kernel_end *)arg)->finished++;
}

const struct kfile_ops kernel_end_ops = { .deliver = end_deliver,
					  .gone = end_gone,
					  .done = end_done };

void kernel_end_open(struct kernel_world *w, struct kernel_end *end, guid_t host)
{
	*end = (struct kernel_end){ 0 };
	end->f = kernel_open(w->k, host, 1, &kernel_end_ops, end);
	assert_non_null(end->f);
}

void kernel_end_close(struct kernel_end *end)
{
	kfile_close(end->f);
	free(end->mad);
	end->mad = NULL;
}

int kernel_end_register(struct kernel_end *end, uint8_t mgmt_class, uint64_t methods, uint8_t rmpp)
{
	const struct kernel_reg reg = { .mgmt_class = mgmt_class,
					.class_version = mgmt_class == WIRE_SA ? 2 : 1,
					.qpn = !wire_is_smi(mgmt_class),
					.rmpp_version = rmpp,
					.methods = { methods } };

	return kfile_register(end->f, &reg);
}

static struct ib_user_mad kernel_head(int agent, uint16_t lid, unsigned timeout_ms,
				      unsigned retries)
{
	return (struct ib_user_mad){ .agent_id = (uint32_t)agent,
				     .timeout_ms = timeout_ms,
				     .retries = retries,
				     .addr = { .lid = htons(lid) } };
}

int kernel_ask_node(struct kernel_end *end, int agent, uint8_t hops, uint32_t tid,
		    unsigned timeout_ms, unsigned retries)
{
	const struct ib_user_mad head = kernel_head(agent, 0xffff, timeout_ms, retries);
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	const struct wire_mad m = { .mgmt_class = WIRE_SMI_DR,
				    .class_version = 1,
				    .method = WIRE_GET,
				    .tid = tid,
				    .attr_id = WIRE_NODE_INFO,
				    .hop_count = hops,
				    .dr_slid = 0xffff,
				    .dr_dlid = 0xffff,
				    .path = { 0, 1 } };

	wire_mad_encode(&m, mad);
	return kfile_write(end->f, &head, mad, sizeof(mad));
}

static int kernel_ask_lid(struct kernel_end *end, int agent, uint16_t lid, const struct wire_mad *m,
			  unsigned timeout_ms)
{
	struct ib_user_mad head = kernel_head(agent, lid, timeout_ms, 0);
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	head.addr.qpn = htonl(!wire_is_smi(m->mgmt_class));
	wire_mad_encode(m, mad);
	return kfile_write(end->f, &head, mad, sizeof(mad));
}

int kernel_ask_sa(struct kernel_end *end, int agent, uint16_t lid, uint8_t method, uint32_t tid,
		  unsigned timeout_ms)
{
	const struct wire_mad m = { .mgmt_class = WIRE_SA,
				    .class_version = 2,
				    .method = method,
				    .tid = tid,
				    .attr_id = WIRE_NODE_INFO };

	return kernel_ask_lid(end, agent, lid, &m, timeout_ms);
}

int kernel_ask_sm(struct kernel_end *end, int agent, uint16_t lid, uint32_t tid,
		  unsigned timeout_ms)
{
	const struct wire_mad m = { .mgmt_class = WIRE_SMI_LID,
				    .class_version = 1,
				    .method = WIRE_GET,
				    .tid = tid,
				    .attr_id = WIRE_SM_INFO };

	return kernel_ask_lid(end, agent, lid, &m, timeout_ms);
}
