/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fiber: see fiber.h. Contexts are switched by glibc's swapcontext(); the address sanitizer has to
 * be notified of each switch, as it tracks the stack.
 */
#include <sys/mman.h>
#include <ucontext.h>
#include "routing/fiber.h"
#include "topology/base/mem.h"

#define STACK_BYTES (1u << 20) /* untouched memory costs nothing */
#define GUARD_BYTES                                                                                \
	(1u << 16) /* below the stack: an overflow ends the process; a multiple of any page size */
#define SLICE_NS 2000000 /* counted work between two stops; a loaded machine takes longer */

struct fiber {
	ucontext_t inside, outside;
	char *stack; /* GUARD_BYTES above what was mapped */
	fiber_fn *fn;
	void *arg;
	uint64_t spent;
	bool more, hurries;
	void *fake_inside, *fake_outside; /* the sanitizer's */
	const void *outer_bottom;
	size_t outer_size;
};

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define NOTE_LEAVE(fake, bottom, size) __sanitizer_start_switch_fiber(fake, bottom, size)
#define NOTE_ENTER(fake, bottom, size) __sanitizer_finish_switch_fiber(fake, bottom, size)
#else
#define NOTE_LEAVE(fake, bottom, size) ((void)(fake), (void)(bottom), (void)(size))
#define NOTE_ENTER(fake, bottom, size) ((void)(fake), (void)(bottom), (void)(size))
#endif

struct fiber *fiber_new(void)
{
	struct fiber *fiber = mem_new(fiber);
	char *area = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED || mprotect(area, GUARD_BYTES, PROT_NONE)) {
		perror("a stack for routing");
		abort();
	}
	fiber->stack = area + GUARD_BYTES;
	return fiber;
}

void fiber_free(struct fiber *fiber)
{
	if (!fiber)
		return;
	munmap(fiber->stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
	free(fiber);
}

/* makecontext(3) passes only ints, so the pointer comes in two halves. */
static void begin(unsigned low, unsigned high)
{
	struct fiber *fiber = (struct fiber *)(low | (uintptr_t)high << 16 << 16);

	NOTE_ENTER(NULL, &fiber->outer_bottom, &fiber->outer_size);
	fiber->fn(fiber->arg);
	fiber->more = false;
	NOTE_LEAVE(NULL, fiber->outer_bottom, fiber->outer_size);
	swapcontext(&fiber->inside, &fiber->outside);
}

void fiber_start(struct fiber *fiber, fiber_fn *fn, void *arg)
{
	uintptr_t self = (uintptr_t)fiber;

	fiber->fn = fn;
	fiber->arg = arg;
	fiber->spent = 0;
	fiber->more = true;
	fiber->hurries = false;
	getcontext(&fiber->inside);
	fiber->inside.uc_stack.ss_sp = fiber->stack;
	fiber->inside.uc_stack.ss_size = STACK_BYTES;
	fiber->inside.uc_link = NULL;
	makecontext(&fiber->inside, (void (*)(void))begin, 2, (unsigned)self,
		    (unsigned)(self >> 16 >> 16));
}

bool fiber_go(struct fiber *fiber)
{
	if (!fiber->more)
		return false;
	fiber->spent = 0;
	NOTE_LEAVE(&fiber->fake_outside, fiber->stack, STACK_BYTES);
	swapcontext(&fiber->outside, &fiber->inside);
	NOTE_ENTER(fiber->fake_outside, NULL, NULL);
	return fiber->more;
}

void fiber_hurry(struct fiber *fiber)
{
	fiber->hurries = true;
}

bool fiber_hurries(const struct fiber *fiber)
{
	return fiber && fiber->hurries;
}

void fiber_spend(struct fiber *fiber, uint32_t ns)
{
	if (!fiber)
		return;
	fiber->spent += ns;
	if (fiber->spent < SLICE_NS || fiber->hurries)
		return;
	NOTE_LEAVE(&fiber->fake_inside, fiber->outer_bottom, fiber->outer_size);
	swapcontext(&fiber->inside, &fiber->outside);
	NOTE_ENTER(fiber->fake_inside, &fiber->outer_bottom, &fiber->outer_size);
}
