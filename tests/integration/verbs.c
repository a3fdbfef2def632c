/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * As much of libibverbs as ibacm and srp_daemon need, on fmsim's library. It is compiled by the
 * tests that use it, and preloaded before that library.
 *
 * Devices and ports are those of libibumad. The only queue pairs are unreliable datagrams: what one
 * sends to a QP1 goes out by an agent for the SA's class, so the SA sees it come from QP1 and sends
 * its answers and Reports there; they are what the queue pair receives. Datagrams to other queue
 * pairs, as between two ibacm, are lost.
 *
 * Asynchronous events are made as the kernel's driver makes them of what the subnet manager writes:
 * LID_CHANGE, SM_CHANGE, PKEY_CHANGE, CLIENT_REREGISTER, PORT_ACTIVE, PORT_ERR. With SYSFS_PATH a
 * folder there has the port's files as srp_daemon reads them, and the hosts of SCSI.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

#define SA_CLASS      3
#define REPORT	      6
#define REPORT_RESP   0x86
#define GRH	      40
#define MAD_SIZE      256
#define POLL_MS	      10
#define RECVS	      1024
#define EVENTS	      64
#define ATTRIBUTE_AT  17 /* its lower byte */
#define INFORM_INFO   3
#define QPN_AT	      84 /* of InformInfo */
#define TID_AT	      8
#define RESPONSE_BIT  0x80
#define STATE_ACTIVE  4
#define SA_TIMEOUT_MS 2000

unsigned fmsim_reregistered(const char *ca_name, int port); /* libfmsim-umad */

struct context {
	struct ibv_context verbs; /* first */
	pthread_mutex_t lock;
	struct ibv_async_event events[EVENTS];
	unsigned first, count;
	struct umad_port before;
	unsigned reregistered;
};

struct queue {		     /* a completion queue */
	struct ibv_cq verbs; /* first */
	pthread_mutex_t lock;
	struct ibv_wc done[RECVS];
	unsigned first, count;
	bool armed;
};

struct pair {
	struct ibv_qp verbs; /* first */
	int port, agent, reports;
	pthread_mutex_t lock;
	struct ibv_recv_wr free[RECVS];
	struct ibv_sge places[RECVS];
	unsigned nfree;
	uint8_t tid_high[4]; /* the kernel puts its own there, and answers have it */
};

struct address {
	struct ibv_ah verbs; /* first */
	struct ibv_ah_attr to;
};

static struct ibv_device device;
static struct umad_ca adapter;

/* ---- Devices --------------------------------------------------------------------------------- */

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];

	if (umad_init() < 0 || umad_get_cas_names(names, UMAD_MAX_DEVICES) < 1 ||
	    umad_get_ca(names[0], &adapter))
		return NULL;
	device.node_type = IBV_NODE_CA;
	device.transport_type = IBV_TRANSPORT_IB;
	snprintf(device.name, sizeof(device.name), "%s", names[0]);
	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

__be64 ibv_get_device_guid(struct ibv_device *dev)
{
	return adapter.node_guid;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){ .phys_port_cnt = (uint8_t)adapter.numports,
					  .max_qp_wr = RECVS,
					  .max_cqe = RECVS,
					  .node_guid = adapter.node_guid };
	return 0;
}

static void port_get(struct ibv_context *context, int num, struct umad_port *port)
{
	memset(port, 0, sizeof(*port));
	umad_get_port(context->device->name, num, port);
}

int ibv_query_port(struct ibv_context *context, uint8_t num, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *out = (struct ibv_port_attr *)attr;
	struct umad_port port;

	port_get(context, num, &port);
	memset(out, 0, offsetof(struct ibv_port_attr, flags));
	out->state = port.state;
	out->max_mtu = out->active_mtu = IBV_MTU_4096;
	out->gid_tbl_len = 1;
	out->pkey_tbl_len = (uint16_t)port.pkeys_size;
	out->lid = (uint16_t)port.base_lid;
	out->lmc = (uint8_t)port.lmc;
	out->sm_lid = (uint16_t)port.sm_lid;
	out->sm_sl = (uint8_t)port.sm_sl;
	out->active_width = 2;	/* four lanes.. */
	out->active_speed = 64; /* ..of HDR */
	out->phys_state = (uint8_t)port.phys_state;
	out->subnet_timeout = 18;
	out->link_layer = IBV_LINK_LAYER_INFINIBAND;
	umad_release_port(&port);
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t num, int index, union ibv_gid *gid)
{
	struct umad_port port;

	if (index)
		return -1;
	port_get(context, num, &port);
	gid->global.subnet_prefix = port.gid_prefix;
	gid->global.interface_id = port.port_guid;
	umad_release_port(&port);
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t num, int index, __be16 *pkey)
{
	struct umad_port port;
	bool there;

	port_get(context, num, &port);
	there = index >= 0 && index < (int)port.pkeys_size;
	*pkey = there ? htobe16(port.pkeys[index]) : 0;
	umad_release_port(&port);
	return there ? 0 : -1;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t num, __be16 wanted)
{
	__be16 pkey;

	for (int i = 0; !ibv_query_pkey(context, num, i, &pkey); i++)
		if (pkey == wanted)
			return i;
	return -1;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void event_add(struct context *c, enum ibv_event_type type)
{
	struct ibv_async_event *event = &c->events[(c->first + c->count) % EVENTS];
	const uint64_t one = 1;

	if (c->count == EVENTS)
		return;
	*event = (struct ibv_async_event){ .event_type = type, .element.port_num = 1 };
	c->count++;
	if (write(c->verbs.async_fd, &one, sizeof(one)) < 0)
		perror("verbs: event");
}

static void file_put(const char *folder, const char *name, const char *text)
{
	char path[512], made[512 + 4];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(made, sizeof(made), "%s.new", path);
	out = fopen(made, "w");
	if (!out)
		return;
	fputs(text, out);
	fclose(out);
	rename(made, path);
}

static void folder_make(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	mkdir(path, 0755);
}

static void sysfs_write(const char *name, const struct umad_port *port)
{
	const char *root = getenv("SYSFS_PATH");
	uint64_t prefix = be64toh(port->gid_prefix), guid = be64toh(port->port_guid);
	char folder[400], gid[64] = "";

	if (!root)
		return;
	snprintf(folder, sizeof(folder), "%s/class/infiniband/%s/ports/1/gids", root, name);
	folder_make(folder);
	for (unsigned i = 0; i < 8; i++)
		snprintf(gid + 5 * i, sizeof(gid) - 5 * i, "%04x%s",
			 (unsigned)((i < 4 ? prefix : guid) >> (48 - 16 * (i % 4)) & 0xffff),
			 i < 7 ? ":" : "\n");
	file_put(folder, "0", gid);
	*strrchr(folder, '/') = '\0';
	file_put(folder, "link_layer", "InfiniBand");
	snprintf(gid, sizeof(gid), "%#x\n", port->base_lid);
	file_put(folder, "lid", gid);
	snprintf(gid, sizeof(gid), "%#x\n", port->sm_lid);
	file_put(folder, "sm_lid", gid);
}

/* It reads them before it asks for a device. */
__attribute__((constructor)) static void sysfs_begin(void)
{
	struct ibv_device **list = getenv("SYSFS_PATH") ? ibv_get_device_list(NULL) : NULL;
	struct umad_port port;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!list)
		return;
	port_get(&(struct ibv_context){ .device = list[0] }, 1, &port);
	sysfs_write(list[0]->name, &port);
	umad_release_port(&port);
	ibv_free_device_list(list);
}

/* Its errors go to the system's log. */
void __vsyslog_chk(int priority, int flag, const char *format, va_list args)
{
	vfprintf(stderr, format, args);
}

/* srp_daemon looks there for what is connected already. */
DIR *opendir(const char *path)
{
	DIR *(*next)(const char *) = dlsym(RTLD_NEXT, "opendir");
	const char *root = getenv("SYSFS_PATH");
	char other[400];

	if (!root || strcmp(path, "/sys/class/scsi_host/"))
		return next(path);
	snprintf(other, sizeof(other), "%s/class/scsi_host", root);
	folder_make(other);
	return next(other);
}

static void port_compare(struct context *c)
{
	unsigned reregistered = fmsim_reregistered(c->verbs.device->name, 1);
	struct umad_port now, *before = &c->before;

	port_get(&c->verbs, 1, &now);
	if (now.base_lid != before->base_lid || now.sm_lid != before->sm_lid)
		sysfs_write(c->verbs.device->name, &now);
	pthread_mutex_lock(&c->lock);
	if (now.base_lid != before->base_lid)
		event_add(c, IBV_EVENT_LID_CHANGE);
	if (now.sm_lid != before->sm_lid || now.sm_sl != before->sm_sl)
		event_add(c, IBV_EVENT_SM_CHANGE);
	if (now.pkeys_size != before->pkeys_size ||
	    memcmp(now.pkeys, before->pkeys, now.pkeys_size * sizeof(*now.pkeys)))
		event_add(c, IBV_EVENT_PKEY_CHANGE);
	if (reregistered != c->reregistered)
		event_add(c, IBV_EVENT_CLIENT_REREGISTER);
	if ((now.state == STATE_ACTIVE) != (before->state == STATE_ACTIVE))
		event_add(c,
			  now.state == STATE_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	pthread_mutex_unlock(&c->lock);
	umad_release_port(before);
	*before = now;
	c->reregistered = reregistered;
}

static void *port_watch(void *arg)
{
	for (;;) {
		usleep(POLL_MS * 1000);
		port_compare(arg);
	}
	return NULL;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct context *c = (struct context *)context;
	uint64_t one;

	if (read(context->async_fd, &one, sizeof(one)) < 0)
		return -1;
	pthread_mutex_lock(&c->lock);
	*event = c->events[c->first++ % EVENTS];
	c->count--;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
	static __thread char text[32];

	snprintf(text, sizeof(text), "event %d", type);
	return text;
}

/* ---- Completions ----------------------------------------------------------------------------- */

static void completion_add(struct ibv_cq *verbs, const struct ibv_wc *wc)
{
	struct queue *q = (struct queue *)verbs;
	uint64_t cq = (uintptr_t)verbs;
	bool tell;

	pthread_mutex_lock(&q->lock);
	if (q->count < RECVS)
		q->done[(q->first + q->count++) % RECVS] = *wc;
	tell = verbs->channel && q->armed;
	q->armed = false;
	pthread_mutex_unlock(&q->lock);
	if (tell && write(verbs->channel->fd, &cq, sizeof(cq)) < 0)
		perror("verbs: completion");
}

static int poll_cq(struct ibv_cq *verbs, int most, struct ibv_wc *wc)
{
	struct queue *q = (struct queue *)verbs;
	int n = 0;

	pthread_mutex_lock(&q->lock);
	for (; n < most && q->count; n++, q->count--)
		wc[n] = q->done[q->first++ % RECVS];
	pthread_mutex_unlock(&q->lock);
	return n;
}

static int req_notify(struct ibv_cq *verbs, int solicited)
{
	struct queue *q = (struct queue *)verbs;

	pthread_mutex_lock(&q->lock);
	q->armed = true;
	pthread_mutex_unlock(&q->lock);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	channel->context = context;
	channel->fd = ends[1]; /* written to; the other end is read from */
	channel->refcnt = ends[0];
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	close(channel->refcnt);
	free(channel);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg)
{
	uint64_t told;

	if (read(channel->refcnt, &told, sizeof(told)) != sizeof(told))
		return -1;
	*cq = (struct ibv_cq *)(uintptr_t)told;
	*arg = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *arg,
			     struct ibv_comp_channel *channel, int vector)
{
	struct queue *q = calloc(1, sizeof(*q));

	q->verbs = (struct ibv_cq){
		.context = context, .channel = channel, .cq_context = arg, .cqe = size
	};
	pthread_mutex_init(&q->lock, NULL);
	return &q->verbs;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

/* ---- Queue pairs ----------------------------------------------------------------------------- */

static void *pair_receive(void *arg)
{
	struct pair *p = arg;
	uint8_t *buffer = malloc(umad_size() + MAD_SIZE);

	for (;;) {
		struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV };
		int length = MAD_SIZE;
		uint8_t *place;

		if (umad_recv(p->port, buffer, &length, -1) < 0 || umad_status(buffer))
			continue;
		pthread_mutex_lock(&p->lock);
		if (!p->nfree) {
			pthread_mutex_unlock(&p->lock);
			continue;
		}
		wc.wr_id = p->free[0].wr_id;
		place = (uint8_t *)(uintptr_t)p->places[0].addr;
		p->nfree--;
		memmove(p->free, p->free + 1, p->nfree * sizeof(*p->free));
		memmove(p->places, p->places + 1, p->nfree * sizeof(*p->places));
		pthread_mutex_unlock(&p->lock);
		memset(place, 0, GRH);
		memcpy(place + GRH, umad_get_mad(buffer), MAD_SIZE);
		if (place[GRH + 3] & RESPONSE_BIT)
			memcpy(place + GRH + TID_AT, p->tid_high, sizeof(p->tid_high));
		wc.byte_len = GRH + MAD_SIZE;
		wc.qp_num = p->verbs.qp_num;
		wc.src_qp = 1;
		wc.slid = be16toh(umad_get_mad_addr(buffer)->lid);
		completion_add(p->verbs.recv_cq, &wc);
	}
	return NULL;
}

static int post_recv(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct pair *p = (struct pair *)verbs;

	pthread_mutex_lock(&p->lock);
	for (; wr && p->nfree < RECVS; wr = wr->next) {
		p->free[p->nfree] = *wr;
		p->places[p->nfree++] = *wr->sg_list;
	}
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static void send_mad(struct pair *p, const struct ibv_send_wr *wr)
{
	const struct address *ah = (const struct address *)wr->wr.ud.ah;
	uint8_t *buffer = calloc(1, umad_size() + MAD_SIZE), *mad = umad_get_mad(buffer);
	const uint32_t own = htobe32(1 << 8);
	uint32_t qpn;
	bool answer;

	memcpy(mad, (void *)(uintptr_t)wr->sg_list->addr,
	       wr->sg_list->length < MAD_SIZE ? wr->sg_list->length : MAD_SIZE);
	memcpy(&qpn, mad + QPN_AT, sizeof(qpn));
	answer = mad[3] & RESPONSE_BIT;
	if (mad[ATTRIBUTE_AT] == INFORM_INFO && be32toh(qpn) >> 8 == p->verbs.qp_num)
		memcpy(mad + QPN_AT, &own, sizeof(own)); /* it is QP1's */
	if (!answer)
		memcpy(p->tid_high, mad + TID_AT, sizeof(p->tid_high));
	umad_set_addr(buffer, ah->to.dlid, 1, ah->to.sl, (int)wr->wr.ud.remote_qkey);
	if (umad_send(p->port, answer ? p->reports : p->agent, buffer, MAD_SIZE,
		      answer ? 0 : SA_TIMEOUT_MS, 0))
		perror("verbs: umad_send");
	free(buffer);
}

static int post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct pair *p = (struct pair *)verbs;

	for (; wr; wr = wr->next) {
		const struct ibv_wc wc = { .wr_id = wr->wr_id,
					   .opcode = IBV_WC_SEND,
					   .qp_num = verbs->qp_num };

		if (wr->wr.ud.remote_qpn == 1)
			send_mad(p, wr);
		completion_add(verbs->send_cq, &wc);
	}
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	long methods[128 / (8 * sizeof(long))] = { 1l << REPORT };
	struct pair *p = calloc(1, sizeof(*p));
	pthread_t thread;

	p->verbs = (struct ibv_qp){ .context = pd->context,
				    .pd = pd,
				    .send_cq = attr->send_cq,
				    .recv_cq = attr->recv_cq,
				    .qp_num = 0x48,
				    .qp_type = attr->qp_type };
	pthread_mutex_init(&p->lock, NULL);
	p->port = umad_open_port(pd->context->device->name, 1);
	p->agent = umad_register(p->port, SA_CLASS, 2, 0, NULL);
	/* One program of a host has the Reports. */
	p->reports = umad_register(p->port, SA_CLASS, 2, 0, methods);
	if (p->port < 0 || p->agent < 0 || pthread_create(&thread, NULL, pair_receive, p))
		return NULL;
	return &p->verbs;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return 0; /* its thread goes with the process */
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_wc flushed = { .status = IBV_WC_WR_FLUSH_ERR };

	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	if (qp->state == IBV_QPS_ERR)
		completion_add(qp->recv_cq, &flushed);
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return 0;
}

/* ---- What has no more than a name ------------------------------------------------------------ */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	*mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr, .length = length };
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct address *ah = calloc(1, sizeof(*ah));

	ah->verbs = (struct ibv_ah){ .context = pd->context, .pd = pd };
	ah->to = *attr;
	return &ah->verbs;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct context *c = calloc(1, sizeof(*c));
	pthread_t thread;

	c->verbs.device = dev;
	c->verbs.num_comp_vectors = 1;
	c->verbs.async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	c->verbs.ops.poll_cq = poll_cq;
	c->verbs.ops.req_notify_cq = req_notify;
	c->verbs.ops.post_send = post_send;
	c->verbs.ops.post_recv = post_recv;
	pthread_mutex_init(&c->lock, NULL);
	port_get(&c->verbs, 1, &c->before);
	c->reregistered = fmsim_reregistered(dev->name, 1);
	pthread_create(&thread, NULL, port_watch, c);
	return &c->verbs;
}

int ibv_close_device(struct ibv_context *context)
{
	return 0; /* its thread goes with the process */
}
