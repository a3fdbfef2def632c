/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a configuration file: either it loads, and every value is one the table allows, or
 * there is a reason with file and line and the configuration is untouched. `@include` is cut out:
 * it would read the machine's files.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fm/conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the text of a string that does not end. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static void check_loaded(const struct conf *conf)
{
	assert(memchr(conf->port.devices, 0, sizeof(conf->port.devices)));
	assert(memchr(conf->socket, 0, sizeof(conf->socket)));
	assert(conf->sm.priority >= 0 && conf->sm.priority <= 15);
	assert(conf->mad.max_wire_smps >= 1 && conf->mad.max_wire_smps <= 1024);
	assert(conf->sweep.interval_ms == 0 ||
	       (conf->sweep.interval_ms >= 100 && conf->sweep.interval_ms <= 86400000));
	assert(conf->routing.engine >= CONF_FTREE && conf->routing.engine <= CONF_UPDN_ROOT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], err[256] = "";
	struct conf conf, before;
	int fd = memfd_create("fmd.conf", 0);

	if (memmem(data, size, "@include", 8) || fd < 0 || write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&conf, 0xa5, sizeof(conf));
	before = conf;
	if (!conf_load(path, &conf, err, sizeof(err)))
		check_loaded(&conf);
	else
		assert(!memcmp(&conf, &before, sizeof(conf)) && !strncmp(err, path, strlen(path)) &&
		       strchr(err + strlen(path), ':'));
	close(fd);
	return 0;
}
