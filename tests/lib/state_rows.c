/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/disk.h"
#include "tests/lib/state_rows.h"
#include "topology/base/mem.h"

/* Where there is none it is made, as of a fmd that kept nothing. */
static sqlite3 *open_db(const char *folder)
{
	char *path = mem_printf("%s/" DISK_NAME, folder);
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "CREATE TABLE IF NOT EXISTS state(kind TEXT NOT NULL, key TEXT NOT NULL, "
			 "value TEXT NOT NULL, number INTEGER NOT NULL DEFAULT 0, sum INTEGER, "
			 "PRIMARY KEY(kind, key)) WITHOUT ROWID",
			 NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", path, sqlite3_errmsg(db));
	free(path);
	return db;
}

static char *text_of(const struct rows_kind *kind)
{
	struct row **list = kind ? rows_list(kind, true) : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; kind && i < kind->count; i++)
		fprintf(out, "%s%s%s\n", list[i]->key, list[i]->value && *list[i]->value ? " " : "",
			list[i]->value ? list[i]->value : "");
	fclose(out);
	free(list);
	return text;
}

char *rows_known(const struct state *state, const char *kind)
{
	return text_of(rows_kind((struct rowset *)state_rows(state), kind, false));
}

char *rows_text(const char *folder, const char *kind)
{
	sqlite3 *db = open_db(folder);
	sqlite3_stmt *st;
	struct rowset rows = { 0 };
	struct rows_kind *to = rows_kind(&rows, kind, true);
	char *text;

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT key, value FROM state WHERE kind=?", -1, &st, NULL),
		SQLITE_OK);
	sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW)
		rows_set(to, (const char *)sqlite3_column_text(st, 0),
			 (const char *)sqlite3_column_text(st, 1), false);
	sqlite3_finalize(st);
	sqlite3_close(db);
	text = text_of(to);
	rows_fini(&rows);
	return text;
}

static void put(sqlite3_stmt *st, const char *kind, const char *key, const char *value)
{
	sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, value, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, rows_sum(kind, key, value));
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_reset(st);
}

void rows_replace(const char *folder, const char *kind, const char *text)
{
	const struct state_rule *rule = state_rule(kind);
	char *copy = mem_strdup(text), *rest = NULL;
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_non_null(rule);
	rows_forget(folder, kind);
	db = open_db(folder);
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "INSERT OR REPLACE INTO state(kind, key, value, sum) "
					    "VALUES(?, ?, ?, ?)",
					    -1, &st, NULL),
			 SQLITE_OK);
	put(st, "kinds", kind, "");
	if (rule->words == KIND_TEXT)
		put(st, kind, "text", text);
	for (char *line = rule->words == KIND_TEXT ? NULL : strtok_r(copy, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t length = state_key_length(rule, line);
		char *value = line + length + (line[length] == ' ');

		line[length] = '\0';
		put(st, kind, line, value);
	}
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(copy);
}

int rows_run(const char *folder, const char *sql)
{
	sqlite3 *db = open_db(folder);
	int changed;

	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	changed = sqlite3_total_changes(db);
	sqlite3_close(db);
	return changed;
}

void rows_forget(const char *folder, const char *kind)
{
	char *sql = mem_printf("DELETE FROM state WHERE kind='%s' OR (kind='kinds' AND key='%s')",
			       kind, kind);

	rows_run(folder, sql);
	free(sql);
}

void rows_damage(const char *folder, long at, size_t length)
{
	char *path = mem_printf("%s/" DISK_NAME, folder);
	FILE *file = fopen(path, "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	for (size_t i = 0; i < length; i++)
		fputc(0xa5, file);
	assert_int_equal(fclose(file), 0);
	free(path);
}

unsigned rows_give(const char *text, bool (*line)(void *owner, const char *line), void *owner)
{
	char *copy = mem_strdup(text), *rest = NULL;
	unsigned number = 1;
	bool taken = true;

	for (char *at = strtok_r(copy, "\n", &rest); at && taken; at = strtok_r(NULL, "\n", &rest))
		if ((taken = line(owner, at)))
			number++;
	free(copy);
	return taken ? 0 : number;
}
