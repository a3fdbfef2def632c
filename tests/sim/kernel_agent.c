/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who may register for what, and the numbers that agents have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sim/kernel_own.h"
#include "topology/base/mem.h"

#define CLASS_SMI_LID  0x01
#define CLASS_SMI_DR   0x81
#define CLASS_MAX      80 /* of those that are not the directed one */
#define CLASS_VERSIONS 0x84

static bool class_fits(const struct kernel_reg *reg)
{
	bool smi = reg->mgmt_class == CLASS_SMI_LID || reg->mgmt_class == CLASS_SMI_DR;

	if (reg->rmpp_version > 1 || reg->class_version >= CLASS_VERSIONS || reg->qpn > 1)
		return false;
	if (!reg->mgmt_class)
		return !reg->methods[0] && !reg->methods[1]; /* it only asks */
	if (reg->mgmt_class >= CLASS_MAX && reg->mgmt_class != CLASS_SMI_DR)
		return false;
	if (class_is_vendor2(reg->mgmt_class) && !reg->oui)
		return false;
	if (reg->rmpp_version && !class_has_rmpp(reg->mgmt_class))
		return false;
	return smi == !reg->qpn;
}

static bool methods_are_taken(const struct kport *p, const struct kernel_reg *reg)
{
	for (const struct kfile *f = p->files; f; f = f->next)
		for (unsigned i = 0; i < KERNEL_AGENTS; i++) {
			const struct kernel_reg *other = f->agents[i] ? &f->agents[i]->reg : NULL;

			if (other && other->mgmt_class == reg->mgmt_class &&
			    other->class_version == reg->class_version && other->oui == reg->oui &&
			    (other->methods[0] & reg->methods[0] ||
			     other->methods[1] & reg->methods[1]))
				return true;
		}
	return false;
}

/* Numbers are not used again soon: a late answer is for nobody. */
static uint32_t hi_tid_take(struct kernel *k, struct kagent *a)
{
	for (unsigned i = 0; i < k->nagents; i++) {
		unsigned place = (k->next_agent + i) % k->nagents;

		if (!k->agents[place]) {
			k->agents[place] = a;
			k->next_agent = place + 1;
			return place + 1;
		}
	}
	k->agents = mem_resize(k->agents, k->nagents + 64, sizeof(*k->agents));
	memset(k->agents + k->nagents, 0, 64 * sizeof(*k->agents));
	k->next_agent = k->nagents;
	k->nagents += 64;
	return hi_tid_take(k, a);
}

/* Only vendors' second range of classes is told apart by OUI. */
static struct kernel_reg reg_plain(const struct kernel_reg *reg)
{
	struct kernel_reg plain = *reg;

	if (!class_is_vendor2(reg->mgmt_class))
		plain.oui = 0;
	return plain;
}

int kfile_register(struct kfile *f, const struct kernel_reg *wanted)
{
	struct kernel_reg reg = reg_plain(wanted);
	unsigned number = 0;
	struct kagent *a;

	if (f->dead)
		return -EPIPE;
	while (number < KERNEL_AGENTS && f->agents[number])
		number++;
	if (number == KERNEL_AGENTS)
		return -ENOMEM;
	if (!class_fits(&reg) || methods_are_taken(f->port, &reg))
		return -EINVAL;
	a = mem_alloc(1, sizeof(*a));
	*a = (struct kagent){ .file = f, .reg = reg, .number = number };
	a->hi_tid = hi_tid_take(f->port->k, a);
	f->agents[number] = a;
	kport_judge_sm(f->port);
	return (int)number;
}

unsigned kfile_agents(const struct kfile *f, bool rmpp)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < KERNEL_AGENTS; i++)
		if (f->agents[i] && (!rmpp || kagent_rmpp(f->agents[i])))
			bits |= 1u << i;
	return bits;
}

void kagent_free(struct kagent *a)
{
	a->file->port->k->agents[a->hi_tid - 1] = NULL;
	rmpp_forget(a);
	a->backlog = NULL;
	while (a->sends)
		ksend_free(a->sends);
	free(a);
}

int kfile_unregister(struct kfile *f, unsigned agent)
{
	struct kagent *a = agent < KERNEL_AGENTS ? f->agents[agent] : NULL;

	if (f->dead || !a)
		return -EINVAL;
	f->agents[agent] = NULL;
	kagent_free(a);
	kport_judge_sm(f->port);
	return 0;
}
