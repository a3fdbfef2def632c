/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * disk_log: the write-ahead log of a SQLite database, `PATH-wal`. From its first damaged
 * page on SQLite passes over all of it, and says nothing; so it is looked at before.
 */
#pragma once

#include <stdbool.h>

/*
 * False: behind a page that is damaged there are more that were written. One that ends too early,
 * as a process that was killed leaves it, is whole; so is one that is missing.
 */
bool disk_log_is_whole(const char *path);
