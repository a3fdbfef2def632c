/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_copy: state_dir as another manager has it, or is to have it: what the mirror needs of the
 * store (fm/mirror/module.h).
 */
#ifndef FMD_STATE_STATE_COPY_H
#define FMD_STATE_STATE_COPY_H

#include "fm/state/state_store.h"

/*
 * The file of that name is another manager's: `content`, which is copied. It is written whoever is
 * master, and read from memory until then. An owner that is there by now does not hear of it.
 */
void state_store_put(struct state_store *store, const char *name, const char *content,
		     size_t length);
/* Whether the disk has yet to take something that another manager sent; not what it refused. */
bool state_store_holds(const struct state_store *store);
/* What is on disk of it; the bytes are the caller's, NULL = there is nothing that is whole. */
char *state_store_on_disk(const struct state_store *store, const char *name, size_t *length);
/*
 * The same, or what the disk did not take yet: what another manager sent, what an owner left, and
 * of an owner that is there what could not be written. What only gathers is on disk soon.
 */
char *state_store_text(const struct state_store *store, const char *name, size_t *length);
/* Each file that was ever written, or has records, but for the manifest. */
void state_store_each(const struct state_store *store, state_name_fn *fn, void *arg);
enum state_mark {
	/*
	 * As standby: state_dir has what the manager that was master until now knew; what hosts
	 * registered with that one is known here. As master: another manager has all that was
	 * written.
	 */
	STATE_COPIED,
	/*
	 * As standby of a manager without a mirror: what hosts registered with it was read from its
	 * SA since this manager stands by. What they registered after that is missing.
	 */
	STATE_READ,
	/* Other managers are to copy this one: one that is not connected is waited for, too. */
	STATE_EXPECTED,
	STATE_MARKS
};
/* Sets one, or clears it; and whether it is set. None is at first. */
void state_store_mark(struct state_store *store, enum state_mark mark, bool on);
bool state_store_is(const struct state_store *store, enum state_mark mark);
/*
 * What goes ahead of the disk, to one follower; fn NULL = nobody follows. Records: each that an
 * owner tells of (state_store_record()), as a line without its end. Texts: of files that are
 * `small`, all of it, within STATE_PUSH_US of a change while another manager waits; the next one no
 * sooner than STATE_SHARE times as long as it took. Both are borrowed until the function returns.
 */
typedef void state_record_fn(void *arg, const char *name, const char *line);
typedef void state_text_fn(void *arg, const char *name, const char *bytes, size_t length);
void state_store_follow(struct state_store *store, state_record_fn *record, state_text_fn *text,
			void *arg);
#define STATE_PUSH_US 2000
/* All that what is on disk does not have, whole lines, until the next change; or length 0. */
const char *state_store_records(const struct state_store *store, const char *name, size_t *length);
/*
 * Whether what was written of that file since this was asked last has changes that no record said;
 * else a follower that takes records knows all of it.
 */
bool state_store_take_news(struct state_store *store, const char *name);
/* Behind state_store_put(): records of another manager, whole lines; the journal has them, too. */
void state_store_append(struct state_store *store, const char *name, const char *lines,
			size_t length);
/*
 * Another manager waits for changes: from its next one on a file gathers them no longer than
 * STATE_HASTE_US, or STATE_SHARE times as long as it took to write it last; never longer than its
 * owner says. Those that have records gather as ever, unless all are waited for.
 */
enum state_haste { STATE_CALM, STATE_HASTE, STATE_HASTE_ALL };
#define STATE_HASTE_US 50000
#define STATE_SHARE    20
/*
 * From now on another manager waits like that. If none did, small files go ahead of the disk that
 * have changed until now.
 */
void state_store_set_haste(struct state_store *store, enum state_haste haste);
/*
 * What another manager is about to go on with: all changes are written without gathering any more.
 * True: another manager has all of it, or none waits and none is expected. To be asked again until
 * then.
 */
bool state_store_passed_on(struct state_store *store);

#endif
