/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Agents of an open port. */
#include <errno.h>
#include "tests/sim/umad_own.h"

#define OPENIB_OUI 0x001405

/* The agent's number, or -errno. */
static int file_register(struct file *f, const struct frame_register *reg)
{
	struct frame_request request;
	int status;

	if (file_is_lost(f))
		return -EIO;
	sim_request(&request, FRAME_REGISTER, NULL, 0);
	request.reg = *reg;
	request.reg.qpn = reg->mgmt_class != 0x01 && reg->mgmt_class != 0x81;
	status = file_ask(f, &request);
	if (status < 0 || status >= AGENTS)
		return status;
	f->known[status] = true;
	f->rmpp[status] = reg->rmpp_version && !(reg->flags & UMAD_USER_RMPP);
	return status;
}

static int register_mask(int portid, struct frame_register *reg, const long *mask)
{
	struct file *f = file_of(portid);
	int status;

	if (!f)
		return -EPERM;
	if (mask)
		memcpy(reg->methods, mask, sizeof(reg->methods));
	status = file_register(f, reg);
	errno = status < 0 ? -status : 0;
	return status < 0 ? -EPERM : status;
}

int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
		  long method_mask[16 / sizeof(long)])
{
	struct frame_register reg = { .mgmt_class = (uint8_t)mgmt_class,
				      .class_version = (uint8_t)mgmt_version,
				      .rmpp_version = rmpp_version,
				      .oui = OPENIB_OUI };

	return register_mask(portid, &reg, method_mask);
}

int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
		      long method_mask[16 / sizeof(long)])
{
	struct frame_register reg = { .mgmt_class = (uint8_t)mgmt_class,
				      .class_version = 1,
				      .rmpp_version = rmpp_version,
				      .oui = (uint32_t)oui[0] << 16 | (uint32_t)oui[1] << 8 |
					     oui[2] };

	if (mgmt_class < VENDOR2_LOW || mgmt_class > VENDOR2_HIGH)
		return -EINVAL;
	return register_mask(portid, &reg, method_mask);
}

int umad_register2(int portid, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	struct file *f = file_of(portid);
	struct frame_register reg;
	int status;

	if (!attr || !agent_id)
		return EINVAL;
	if (!f)
		return EBADF;
	if (attr->mgmt_class >= VENDOR2_LOW && attr->mgmt_class <= VENDOR2_HIGH &&
	    (!(attr->oui & 0xffffff) || attr->oui & 0xff000000))
		return EINVAL;
	if (attr->flags & ~(uint32_t)UMAD_USER_RMPP) {
		attr->flags = UMAD_USER_RMPP;
		return EINVAL;
	}
	reg = (struct frame_register){ .mgmt_class = attr->mgmt_class,
				       .class_version = attr->mgmt_class_version,
				       .rmpp_version = attr->rmpp_version,
				       .flags = attr->flags,
				       .oui = attr->oui,
				       .methods = { attr->method_mask[0], attr->method_mask[1] } };
	status = file_register(f, &reg);
	if (status < 0)
		return -status;
	*agent_id = (uint32_t)status;
	return 0;
}

int umad_unregister(int portid, int agentid)
{
	struct file *f = file_of(portid);
	struct frame_request request;
	int status = -EINVAL;

	if (f && agentid >= 0 && agentid < AGENTS && f->known[agentid]) {
		sim_request(&request, FRAME_UNREGISTER, NULL, agentid);
		status = file_ask(f, &request);
		f->known[agentid] = false;
	}
	errno = status < 0 ? -status : 0;
	return status < 0 ? -1 : 0;
}
