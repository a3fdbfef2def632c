/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Log lines go to stderr, each in one write(2), so that lines of several processes do not mix.
 *
 * To the journal or a file a line is `<6>mad: text`; to a terminal `12:30:01.250 mad: text`. Levels
 * are held for each module. The level table is this program's one piece of file-scope state: a log
 * call must work anywhere, without a handle passed down.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include "fm/loop/log.h"
#include "topology/base/mem.h"
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h> /* last: it defines syslog's levels, which are the log's too */

#define LINE_MAX_BYTES 1024

static enum log_level log_levels[LOG_MODULES] = { [0 ... LOG_MODULES - 1] = LOG_INFO };

static const char *const module_names[LOG_MODULES] = {
	[LOG_CORE] = "core",	   [LOG_MAD] = "mad",	      [LOG_SWEEP] = "sweep",
	[LOG_ROUTE] = "route",	   [LOG_PROGRAM] = "program", [LOG_SA] = "sa",
	[LOG_SM] = "sm",	   [LOG_TRAP] = "trap",	      [LOG_NVSWITCH] = "nvswitch",
	[LOG_CONTROL] = "control",
};

static const struct {
	const char *name;
	enum log_level level;
} level_names[] = {
	{ "error", LOG_ERR }, { "warning", LOG_WARNING }, { "notice", LOG_NOTICE },
	{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
};

static int format_prefix(char *line, size_t size, enum log_module module, enum log_level level)
{
	struct timespec now;
	struct tm tm;

	if (!isatty(STDERR_FILENO))
		return snprintf(line, size, "<%d>%s: ", level, module_names[module]);
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	return snprintf(line, size, "%02d:%02d:%02d.%03ld %s%s: ", tm.tm_hour, tm.tm_min, tm.tm_sec,
			now.tv_nsec / 1000000, level <= LOG_WARNING ? "! " : "",
			module_names[module]);
}

void log_line(enum log_module module, enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	if (level > log_levels[module])
		return;

	size_t len = format_prefix(line, sizeof(line), module, level);

	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - 1 - len, format, args);
	va_end(args);
	len = strlen(line);
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return; /* nowhere left to say so */
}

/* As systemd tells: the device and the inode of the stream that stderr has to be. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat is;

	return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &is) && is.st_dev == device && is.st_ino == inode;
}

void log_fields(enum log_module module, enum log_level level, const char *text,
		const struct iovec *fields, unsigned count)
{
	struct iovec all[count + 2];
	char line[LINE_MAX_BYTES], priority[16];

	if (level > log_levels[module] || !is_journal()) {
		log_line(module, level, "%s", text);
		return;
	}
	all[0] = (struct iovec){ line, array_printf(line, "MESSAGE=%s: %.900s",
						    module_names[module], text) };
	all[1] = (struct iovec){ priority, array_printf(priority, "PRIORITY=%d", level) };
	memcpy(all + 2, fields, count * sizeof(*fields));
	if (sd_journal_sendv(all, count + 2) < 0)
		log_line(module, level, "%s", text);
}

void log_set_level(int module, enum log_level level)
{
	for (int i = 0; i < LOG_MODULES; i++)
		if (module == -1 || module == i)
			log_levels[i] = level;
}

int log_level_parse(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
		if (!strcmp(text, level_names[i].name))
			return level_names[i].level;
	return -1;
}

int log_module_parse(const char *text)
{
	for (int i = 0; i < LOG_MODULES; i++)
		if (!strcmp(text, module_names[i]))
			return i;
	return -1;
}

const char *log_module_name(int module)
{
	return module >= 0 && module < LOG_MODULES ? module_names[module] : NULL;
}

bool log_allow(struct log_limit *limit, uint64_t now_us, unsigned burst)
{
	uint64_t second = now_us / 1000000;

	if (second != limit->second) {
		if (limit->suppressed)
			log_line(LOG_CORE, LOG_NOTICE, "%u lines like the next one suppressed",
				 limit->suppressed);
		*limit = (struct log_limit){ .second = second };
	}
	if (limit->count < burst) {
		limit->count++;
		return true;
	}
	limit->suppressed++;
	return false;
}
