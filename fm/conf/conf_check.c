/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf_check: texts that can never work are refused with their line, before they are used. Whether
 * a port is free or a server answers is not checked: that changes, and what can't be opened now is
 * tried again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/text.h"
#include "fm/conf/conf_check.h"

bool conf_check_path(const char *text, char *why, size_t size)
{
	if (!*text)
		snprintf(why, size, "a path is expected");
	return *text;
}

bool conf_check_http(const char *text, char *why, size_t size)
{
	struct address address;

	if (!*text || (address_parse(text, &address) && *address.host))
		return true;
	snprintf(why, size, "\"%.60s\": ADDRESS:PORT is expected", text);
	return false;
}

bool conf_check_peers(const char *text, char *why, size_t size)
{
	char word[80];
	struct address address;
	int used;

	for (; sscanf(text, "%79s%n", word, &used) == 1; text += used)
		if (!address_parse(word, &address) || !*address.host) {
			snprintf(why, size, "\"%.60s\": HOST:PORT is expected", word);
			return false;
		}
	return true;
}

bool conf_check_guids(const char *text, char *why, size_t size)
{
	char word[80], *end;
	int used;

	for (; sscanf(text, "%79s%n", word, &used) == 1; text += used)
		if (strncmp(word, "0x", 2) != 0 || !strtoull(word, &end, 16) || *end ||
		    end - word > 18) {
			snprintf(why, size,
				 "\"%.60s\": a port GUID such as 0x0002c90300001234 is expected",
				 word);
			return false;
		}
	return true;
}

bool conf_check_syslog(const char *text, char *why, size_t size)
{
	struct address address;

	if (!*text ||
	    (address_parse(text, &address) && (!*address.host || address_is_numeric(address.host))))
		return true;
	snprintf(why, size, "\"%.60s\": ADDRESS:PORT with an IP address is expected", text);
	return false;
}

static size_t scheme_len(const char *url)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncmp(url, schemes[i], strlen(schemes[i])))
			return strlen(schemes[i]);
	return 0;
}

bool conf_check_url(const char *text, char *why, size_t size)
{
	size_t scheme = scheme_len(text), host = strcspn(text + scheme, "/?#");
	const char *wrong = NULL;

	if (!*text)
		return true;
	if (!scheme)
		wrong = "http:// or https:// is expected";
	else if (!strstr(text, "%h"))
		wrong = "%h is expected in place of the host's name";
	else if (!host || strcspn(text, " \t\"<>@") != strlen(text))
		wrong = "is not the URL of a server";
	if (wrong)
		snprintf(why, size, "\"%.60s\": %s", text, wrong);
	return !wrong;
}
