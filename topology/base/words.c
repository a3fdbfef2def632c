/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* words: see words.h. All works within the text: what is cut off ends in a zero byte there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/words.h"

#define BLANKS " \t\r\n\v\f"

char *words_trim(char *text)
{
	char *end;

	text += strspn(text, BLANKS);
	end = text + strlen(text);
	while (end > text && strchr(BLANKS, end[-1]))
		*--end = '\0';
	return text;
}

char *words_cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

char *words_split(char *text, char **value)
{
	*value = words_cut(text, '=');
	if (*value)
		*value = words_trim(*value);
	return words_trim(text);
}

bool words_abbreviate(const char *text, const char *word)
{
	return *text && !strncmp(text, word, strlen(text));
}

bool words_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false; /* no sign, no blank */
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !*end && !errno && *value <= max;
}

const char *words_plural(uint64_t count, const char *one, const char *several)
{
	return count == 1 ? one : several;
}
