/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * modules: the rooms of a fabric, and how the pipe calls their hooks (fm/fabric/module.h), each in
 * the table's order. A new hook costs its member in hooks_*.h and the call in the pipe.
 */
#ifndef FMD_FABRIC_MODULES_H
#define FMD_FABRIC_MODULES_H

#include "fm/fabric/module.h"

struct modules { /* owned by the pipe */
	unsigned count;
	struct module_row {
		const struct fabric_module *module; /* NULL = the end */
		void *room;			    /* NULL = not begun */
	} rows[];
};

/* The table is the caller's, for as long. */
struct modules *modules_new(fabric_modules table);
/* 0, or -1 with the reason in err: a room stands ahead of one that it has to stand behind. */
int modules_check_order(fabric_modules table, char *err, size_t err_size);
/* The rooms that are not there, in order. */
void modules_begin(struct modules *modules, struct fabric *fabric);
/* The last one first; not all: those that last stay. */
void modules_end(struct modules *modules, bool all);
void modules_free(struct modules *modules); /* all have ended */

#define MODULES_EACH(modules, row)                                                                 \
	for (const struct module_row *row = (modules)->rows; (row)->module; (row)++)

/* Calls that hook of each room that has it: MODULES_CALL(m, settled, FABRIC_SETTLED). */
#define MODULES_CALL(modules, hook, ...)                                                           \
	do {                                                                                       \
		MODULES_EACH (modules, row_)                                                       \
			if (row_->module->hook)                                                    \
				row_->module->hook(row_->room, ##__VA_ARGS__);                     \
	} while (0)

/*
 * The same of a hook that answers, up to the first room whose answer is not `usual`: it is the
 * result; `usual` if there is none. MODULES_ALL: no room says false. MODULES_ANY: one says true.
 * MODULES_FIRST: the first answer that is not NULL.
 */
#define MODULES_UNTIL(modules, usual, hook, ...)                                                   \
	({                                                                                         \
		__typeof__((modules)->rows->module->hook(NULL, ##__VA_ARGS__)) answer_ = (usual);  \
		MODULES_EACH (modules, row_) {                                                     \
			if (row_->module->hook)                                                    \
				answer_ = row_->module->hook(row_->room, ##__VA_ARGS__);           \
			if (answer_ != (usual))                                                    \
				break;                                                             \
		}                                                                                  \
		answer_;                                                                           \
	})
#define MODULES_ALL(modules, hook, ...)	  MODULES_UNTIL(modules, true, hook, ##__VA_ARGS__)
#define MODULES_ANY(modules, hook, ...)	  MODULES_UNTIL(modules, false, hook, ##__VA_ARGS__)
#define MODULES_FIRST(modules, hook, ...) MODULES_UNTIL(modules, NULL, hook, ##__VA_ARGS__)

/* Hooks whose answers are put together. */
/* without: a room that is left out; NULL = none. */
void modules_route_input(const struct modules *modules, const struct fabric_module *without,
			 const struct topo *next, struct fabric_policy *policy);

#endif
