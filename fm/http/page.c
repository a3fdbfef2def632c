/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* page: its files lie in the program as they are in fm/http/page/. */
#include <stdlib.h>
#include <string.h>
#include "fm/http/page.h"
#include "fm/http/reply.h"
#include "topology/mem.h"

/* What the page may do: run its own scripts and ask its own server; no other site may frame it. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "    \
	"data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define EMBED(symbol, file)                                                                        \
	__asm__(".section .rodata\n" #symbol ": .incbin \"fm/http/page/" file "\"\n" #symbol       \
		"_end: .byte 0\n.previous");                                                       \
	extern const char symbol[], symbol##_end[];

#define HTML   "text/html; charset=utf-8"
#define STYLE  "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

/* FILE(symbol, name, path, type) */
#define FILES(FILE)                                                                                \
	FILE(page_index, "index.html", "/", HTML)                                                  \
	FILE(page_style, "style.css", "/page/style.css", STYLE)                                    \
	FILE(page_main, "main.js", "/page/main.js", SCRIPT)                                        \
	FILE(page_api, "api.js", "/page/api.js", SCRIPT)                                           \
	FILE(page_model, "model.js", "/page/model.js", SCRIPT)                                     \
	FILE(page_dom, "dom.js", "/page/dom.js", SCRIPT)                                           \
	FILE(page_map, "map.js", "/page/map.js", SCRIPT)                                           \
	FILE(page_views, "views.js", "/page/views.js", SCRIPT)                                     \
	FILE(page_details, "details.js", "/page/details.js", SCRIPT)

#define FILE_EMBED(symbol, name, path, type) EMBED(symbol, name)
FILES(FILE_EMBED)

#define FILE_ROW(symbol, name, path, type) { path, type, symbol, symbol##_end },
static const struct page_file {
	const char *path, *type;
	const char *data, *end;
} files[] = { FILES(FILE_ROW) };

static const struct page_file *find(const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

bool page_has(const char *path)
{
	return find(path);
}

enum MHD_Result page_reply(struct MHD_Connection *connection, const char *path)
{
	const struct page_file *file = find(path);
	const struct encode_wish wish = reply_wish(connection);
	size_t len = (size_t)(file->end - file->data);
	char *copy = mem_alloc(len, 1);
	struct encoded out;

	memcpy(copy, file->data, len);
	out = encode_body(&wish, copy, len);
	return reply_encoded(connection, file->type, &out, POLICY);
}
