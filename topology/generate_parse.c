/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* generate_parse: the arguments of `fmctl generate` (see generate.h), for whichever fabric. */
#include "topology/generate.h"
#include "topology/generate_own.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE                                                                                      \
	"superpod --su N [--system a100|h100|b200] [--no-sharp], pgft H m1,.. w1,.. [p1,..], or "  \
	"torus|ring|hypercube|hyperx|dragonfly+|jellyfish SIZE[,SIZE].."

static bool parse_unsigned(const char *text, unsigned *value)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || n > 100000)
		return false;
	*value = (unsigned)n;
	return true;
}

static bool parse_list(const char *text, unsigned count, unsigned *list)
{
	for (unsigned i = 0; i < count; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (!isdigit((unsigned char)text[0]) || n > 100000 ||
		    *end != (i + 1 < count ? ',' : '\0'))
			return false;
		list[i] = (unsigned)n;
		text = end + 1;
	}
	return true;
}

static struct topo *refuse(char *err, size_t err_size, const char *what, const char *text)
{
	snprintf(err, err_size, "%s '%s': %s", what, text, USAGE);
	return NULL;
}

static struct topo *parse_superpod(int argc, char **argv, char *err, size_t err_size)
{
	int system = GENERATE_H100;
	unsigned su = 0;
	bool sharp = true;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--no-sharp") == 0) {
			sharp = false;
		} else if (strcmp(argv[i], "--su") == 0) {
			if (!parse_unsigned(value, &su))
				return refuse(err, err_size,
					      "not a number of scalable units:", value);
			i++;
		} else if (strcmp(argv[i], "--system") == 0) {
			system = generate_find_system(value);
			if (system < 0)
				return refuse(err, err_size, "unknown system", value);
			i++;
		} else {
			return refuse(err, err_size, "unknown argument", argv[i]);
		}
	}
	return (sharp ? generate_superpod : generate_superpod_no_sharp)(
		(enum generate_system)system, su, err, err_size);
}

static struct topo *parse_pgft(int argc, char **argv, char *err, size_t err_size)
{
	unsigned h, m[PGFT_LEVELS], w[PGFT_LEVELS], p[PGFT_LEVELS];

	if (argc < 4 || argc > 5)
		return refuse(err, err_size, "wrong number of arguments for", argv[0]);
	if (!parse_unsigned(argv[1], &h) || h < 1 || h > PGFT_LEVELS)
		return refuse(err, err_size, "not a height of 1 to 8:", argv[1]);
	for (unsigned i = 0; i < h; i++)
		p[i] = 1;
	if (!parse_list(argv[2], h, m))
		return refuse(err, err_size, "not one number for each level:", argv[2]);
	if (!parse_list(argv[3], h, w))
		return refuse(err, err_size, "not one number for each level:", argv[3]);
	if (argc == 5 && !parse_list(argv[4], h, p))
		return refuse(err, err_size, "not one number for each level:", argv[4]);
	return generate_pgft(h, m, w, p, err, err_size);
}

struct topo *generate_parse(int argc, char **argv, char *err, size_t err_size)
{
	if (argc > 0 && strcmp(argv[0], "superpod") == 0)
		return parse_superpod(argc, argv, err, err_size);
	if (argc > 0 && strcmp(argv[0], "pgft") == 0)
		return parse_pgft(argc, argv, err, err_size);
	if (argc > 0 && generate_is_shape(argv[0]))
		return generate_shape(argc, argv, err, err_size);
	return refuse(err, err_size, "unknown fabric", argc > 0 ? argv[0] : "");
}
