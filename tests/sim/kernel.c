/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ports, files, devices, and which agent gets what comes in. What goes out is in kernel_send.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include "tests/sim/kernel_own.h"
#include "topology/base/mem.h"

#define CLASS_SMI_DR	   0x81
#define STATUS_UNSUPPORTED 0x000c

/* ---- Ports ----------------------------------------------------------------------------------- */

static void port_received(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len);

static struct kport *port_find(struct kernel *k, const struct dport *dport)
{
	for (struct kport *p = k->ports; p; p = p->next)
		if (p->dport == dport)
			return p;
	return NULL;
}

static struct kport *port_get(struct kernel *k, guid_t node, unsigned num)
{
	uint32_t index = topo_find(k->d->topo, node);
	struct dnode *dnode = index == TOPO_NONE ? NULL : &k->d->nodes[index];
	struct kport *p;

	if (!dnode || num > dnode->ni.nports || (!num && !is_switch(dnode)) || k->absent[index]) {
		errno = ENXIO;
		return NULL;
	}
	p = port_find(k, &dnode->ports[num]);
	if (p)
		return p;
	p = mem_alloc(1, sizeof(*p));
	*p = (struct kport){ .next = k->ports, .k = k, .dport = &dnode->ports[num] };
	k->ports = p;
	p->dport->listener = port_received;
	p->dport->listener_arg = p;
	return p;
}

/* SMInfo requests go to a manager that is registered for them, else the node answers by itself. */
void kport_judge_sm(struct kport *p)
{
	p->dport->sm_listens = false;
	for (const struct kfile *f = p->files; f; f = f->next)
		for (unsigned i = 0; i < KERNEL_AGENTS; i++)
			if (f->agents[i] && !f->agents[i]->reg.qpn &&
			    f->agents[i]->reg.methods[0] & 1u << WIRE_GET)
				p->dport->sm_listens = true;
}

static bool kernel_loses(struct kernel *k)
{
	return double_chance(k->d, k->loss);
}

static void transmit(struct kernel *k, struct dport *port, const struct io_addr *to,
		     const uint8_t *mad, size_t len)
{
	k->counts.sent++;
	if (!kernel_loses(k))
		net_send(k->d, port, to, mad, len);
}

void kport_transmit(struct kport *p, const struct io_addr *to, const uint8_t *mad, size_t len)
{
	transmit(p->k, p->dport, to, mad, len);
}

struct io_addr kaddress(const struct ib_user_mad *head)
{
	struct io_addr to = {
		.lid = ntohs(head->addr.lid),
		.qp = ntohl(head->addr.qpn),
		.qkey = ntohl(head->addr.qkey),
		.pkey_index = head->addr.pkey_index,
		.sl = head->addr.sl,
		.path_bits = head->addr.path_bits,
		.grh = head->addr.grh_present,
		.hop_limit = head->addr.hop_limit,
	};

	memcpy(to.gid, head->addr.gid, sizeof(to.gid));
	return to;
}

/* ---- What comes in --------------------------------------------------------------------------- */

void kagent_deliver(struct kagent *a, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct ib_user_mad head = { .agent_id = a->number,
				    .length = (uint32_t)(sizeof(head) + len),
				    .addr = { .qpn = htonl(from->qp),
					      .lid = htons(from->lid),
					      .sl = from->sl,
					      .path_bits = from->path_bits,
					      .pkey_index = from->pkey_index,
					      .grh_present = from->grh,
					      .hop_limit = from->hop_limit } };

	memcpy(head.addr.gid, from->gid, sizeof(from->gid));
	kernel_of(a)->counts.received++;
	a->file->ops->deliver(a->file->arg, &head, mad, len);
}

/* Whole messages: an answer that nobody waits for is dropped. */
void kagent_arrived(struct kagent *a, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct ksend *s;

	if (!mad_is_response(mad)) {
		kagent_deliver(a, from, mad, len);
		return;
	}
	s = ksend_find(a, from, mad);
	if (s) {
		ksend_free(s);
		kagent_deliver(a, from, mad, len);
	} else if (!kagent_rmpp(a) && class_has_rmpp(mad[AT_CLASS]) && rmpp_is_active(mad)) {
		kagent_deliver(a, from, mad, len);
	} else {
		kernel_of(a)->counts.unmatched++;
	}
}

static bool agent_wants(const struct kagent *a, const uint8_t *mad)
{
	unsigned method = mad[AT_METHOD] & (KMETHODS - 1);

	if (a->reg.mgmt_class != mad[AT_CLASS] || a->reg.class_version != mad[AT_VERSION])
		return false;
	if (class_is_vendor2(mad[AT_CLASS]) && a->reg.oui != (get32(mad + AT_OUI - 1) & 0xffffff))
		return false;
	return a->reg.methods[method / 64] >> method % 64 & 1;
}

static struct kagent *agent_for_request(const struct kport *p, const uint8_t *mad)
{
	for (const struct kfile *f = p->files; f; f = f->next)
		for (unsigned i = 0; i < KERNEL_AGENTS; i++)
			if (f->agents[i] && agent_wants(f->agents[i], mad))
				return f->agents[i];
	return NULL;
}

static struct kagent *agent_for_answer(const struct kport *p, const uint8_t *mad)
{
	uint32_t hi_tid = get32(mad + AT_TID);
	struct kagent *a = hi_tid - 1 < p->k->nagents ? p->k->agents[hi_tid - 1] : NULL;

	return a && a->file->port == p ? a : NULL;
}

/*
 * A Get or Set that nobody here knows is answered for all that, at every port of a host whose
 * device is there.
 */
static void refuse(struct kernel *k, struct dport *port, const struct io_addr *from,
		   const uint8_t *request)
{
	uint8_t mad[KMAD];
	bool directed = request[AT_CLASS] == CLASS_SMI_DR;

	k->counts.unwanted++;
	if (request[AT_METHOD] != WIRE_GET && request[AT_METHOD] != WIRE_SET)
		return;
	memcpy(mad, request, sizeof(mad));
	mad[AT_METHOD] = WIRE_GET_RESP;
	mad[AT_STATUS] = directed ? 0x80 : 0;
	mad[AT_STATUS + 1] = STATUS_UNSUPPORTED;
	transmit(k, port, from, mad, sizeof(mad));
}

static void host_received(void *arg, struct dport *port, const struct io_addr *from,
			  const uint8_t *mad)
{
	struct kernel *k = arg;

	if (!mad_is_response(mad) && !k->absent[port->node - k->d->nodes])
		refuse(k, port, from, mad);
}

static void port_received(void *arg, const struct io_addr *from, const uint8_t *bytes, size_t len)
{
	struct kport *p = arg;
	uint8_t mad[KMAD] = { 0 };
	struct kagent *a;

	if (kernel_loses(p->k))
		return;
	memcpy(mad, bytes, len < KMAD ? len : KMAD); /* it may be of who asked */
	a = mad_is_response(mad) ? agent_for_answer(p, mad) : agent_for_request(p, mad);
	if (!a && !mad_is_response(mad) && !p->k->absent[p->dport->node - p->k->d->nodes])
		refuse(p->k, p->dport, from, mad);
	else if (!a)
		p->k->counts.unwanted++;
	else if (kagent_is_message(a, mad))
		rmpp_receive(a, from, mad);
	else
		kagent_arrived(a, from, mad, KMAD);
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct kfile *kernel_open(struct kernel *k, guid_t node, unsigned num, const struct kfile_ops *ops,
			  void *arg)
{
	struct kport *p = port_get(k, node, num);
	struct kfile *f;

	if (!p)
		return NULL;
	f = mem_alloc(1, sizeof(*f));
	*f = (struct kfile){
		.next = p->files, .back = &p->files, .port = p, .ops = ops, .arg = arg
	};
	if (f->next)
		f->next->back = &f->next;
	p->files = f;
	return f;
}

static void file_forget(struct kfile *f)
{
	for (unsigned i = 0; i < KERNEL_AGENTS; i++)
		if (f->agents[i])
			kagent_free(f->agents[i]);
	memset(f->agents, 0, sizeof(f->agents));
	kport_judge_sm(f->port);
}

void kfile_close(struct kfile *f)
{
	f->dead = true;
	file_forget(f);
	*f->back = f->next;
	if (f->next)
		f->next->back = f->back;
	free(f);
}

/* ---- IsSM ------------------------------------------------------------------------------------ */

struct kissm *kernel_issm_open(struct kernel *k, guid_t node, unsigned num)
{
	struct kport *p = port_get(k, node, num);

	if (!p)
		return NULL;
	if (p->issm) {
		errno = EAGAIN;
		return NULL;
	}
	p->issm = mem_alloc(1, sizeof(*p->issm));
	p->issm->port = p;
	port_set_capmask(k->d, p->dport, p->dport->info.capmask | WIRE_CAP_IS_SM);
	return p->issm;
}

void kissm_close(struct kissm *s)
{
	if (s->port->issm == s) {
		s->port->issm = NULL;
		port_set_capmask(s->port->k->d, s->port->dport,
				 s->port->dport->info.capmask & ~WIRE_CAP_IS_SM);
	}
	free(s);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static void port_gone(struct kport *p)
{
	if (p->issm) {
		p->dport->info.capmask &= ~WIRE_CAP_IS_SM;
		p->issm = NULL; /* its opener frees it */
	}
	for (struct kfile *f = p->files, *next; f; f = next) {
		next = f->next;
		if (f->dead)
			continue;
		f->dead = true;
		file_forget(f);
		f->ops->gone(f->arg);
	}
}

void kernel_device(struct kernel *k, guid_t node, bool there)
{
	uint32_t index = topo_find(k->d->topo, node);

	k->absent[index] = !there;
	for (struct kport *p = k->ports; p && !there; p = p->next)
		if (p->dport->node == &k->d->nodes[index])
			port_gone(p);
}

bool kernel_device_there(const struct kernel *k, guid_t node)
{
	return !k->absent[topo_find(k->d->topo, node)];
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct kernel *kernel_new(struct loop *loop, struct double_fabric *d)
{
	struct kernel *k = mem_alloc(1, sizeof(*k));

	k->loop = loop;
	k->d = d;
	k->table = mem_alloc(SENDS_TABLE, sizeof(*k->table));
	k->absent = mem_alloc(d->topo->nnodes, sizeof(*k->absent));
	d->kernel = host_received;
	d->kernel_arg = k;
	return k;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	k->d->kernel = NULL;
	while (k->ports) {
		struct kport *p = k->ports;

		k->ports = p->next;
		p->dport->listener = NULL;
		p->dport->sm_listens = false;
		free(p);
	}
	while (k->pool) {
		struct ksend *s = k->pool;

		k->pool = s->next;
		loop_timer_free(s->timer);
		free(s->mad);
		free(s);
	}
	free(k->agents);
	free(k->absent);
	free(k->table);
	free(k);
}

void kernel_set_loss(struct kernel *k, unsigned per_mille)
{
	k->loss = per_mille;
}

void kernel_set_limits(struct kernel *k, bool on)
{
	k->limits = on;
}

const struct kernel_counts *kernel_counts(const struct kernel *k)
{
	return &k->counts;
}
