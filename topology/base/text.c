/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define HOST_NAME_MAX_LEN 253

static const struct {
	uint32_t first, last;
} unsafe[] = {
	{ 0, 0x1f },	    /* C0 */
	{ 0x7f, 0x9f },	    /* DEL, C1: terminals take 0x9b for the start of a command */
	{ 0x61c, 0x61c },   /* Arabic letter mark */
	{ 0x200b, 0x200f }, /* zero width, left-to-right and right-to-left marks */
	{ 0x2028, 0x202e }, /* line and paragraph separators, bidirectional embedding */
	{ 0x2060, 0x2069 }, /* word joiner, invisible operators, bidirectional isolates */
	{ 0xfeff, 0xfeff }, /* byte order mark */
	{ 0xfff9, 0xfffb }, /* interlinear annotation */
};

static bool is_safe(uint32_t c)
{
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		if (c >= unsafe[i].first && c <= unsafe[i].last)
			return false;
	return true;
}

/*
 * Bytes of the character that begins here, and its number; 0 = not well-formed within `len` bytes.
 */
static size_t decode(const uint8_t *at, size_t len, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size = *at < 0x80   ? 1
		      : *at < 0xc2 ? 0
		      : *at < 0xe0 ? 2
		      : *at < 0xf0 ? 3
		      : *at < 0xf5 ? 4
				   : 0;

	if (!size || size > len)
		return 0;
	*c = size == 1 ? *at : *at & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (at[i] & 0x3f);
	}
	if (*c < least[size] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return 0;
	return size;
}

void text_clean(const char *from, size_t len, char *to)
{
	size_t used = 0;

	len = strnlen(from, len);
	for (size_t i = 0, size; i < len; i += size ? size : 1) {
		uint32_t c = 0;

		size = decode((const uint8_t *)from + i, len - i, &c);
		if (size && is_safe(c)) {
			memmove(to + used, from + i, size);
			used += size;
		} else {
			to[used++] = '.';
		}
	}
	to[used] = '\0';
}

bool text_is_host_name(const char *name)
{
	size_t len = strlen(name);

	if (len > HOST_NAME_MAX_LEN || !isalnum((unsigned char)*name) || !strncmp(name, "0x", 2))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i]))
			return false;
	return strcasecmp(name, "ALL") && strcasecmp(name, "DEFAULT");
}
