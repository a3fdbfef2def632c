/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_state: what hosts have asked the SA for and is to outlive the process, as lines of text.
 */
#ifndef FMD_SA_SA_STATE_H
#define FMD_SA_SA_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sa;
struct subscription;
struct wire_service;

/* Reading gives 0, or the number of the first line that cannot be read. */
unsigned sa_subscriptions_read(struct sa *sa, FILE *in);
void sa_subscriptions_write(const struct sa *sa, FILE *out);
void sa_subscriptions_forget(struct sa *sa);
/*
 * Takes a record over as sa_record() reported it: a line of the file; behind `gone ` one that has
 * ended. False, here and in the next two: the line is no such record.
 */
bool sa_subscriptions_take(struct sa *sa, const char *line);
/* Leases are kept as the second they end at: `now` is that of the system's clock. */
unsigned sa_services_read(struct sa *sa, FILE *in, int64_t now);
void sa_services_write(const struct sa *sa, FILE *out, int64_t now);
void sa_services_forget(struct sa *sa);
/* False: the line is no such record. */
bool sa_services_take(struct sa *sa, const char *line, int64_t now);
unsigned sa_aliases_read(struct sa *sa, FILE *in);
void sa_aliases_write(const struct sa *sa, FILE *out);
void sa_aliases_forget(struct sa *sa);
/* False: the line is no such record. */
bool sa_aliases_take(struct sa *sa, const char *line);

#endif
