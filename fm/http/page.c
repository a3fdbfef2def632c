/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* page: its files lie in the program as they are in fm/http/page/. */
#include <stdlib.h>
#include <string.h>
#include "fm/http/page.h"
#include "fm/http/reply.h"
#include "topology/mem.h"

/* What the page may do: ask its own server. */
#define POLICY "default-src 'self' 'unsafe-inline'"

#define EMBED(symbol, file)                                                                        \
	__asm__(".section .rodata\n" #symbol ": .incbin \"fm/http/" file "\"\n" #symbol            \
		"_end: .byte 0\n.previous");                                                       \
	extern const char symbol[], symbol##_end[];

EMBED(page_html, "page.html")

static const struct page_file {
	const char *path, *type;
	const char *data, *end;
} files[] = {
	{ "/", "text/html; charset=utf-8", page_html, page_html_end },
};

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
