/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmd: options, configuration, the objects in the order they need each other, and the system's side
 * of a daemon: signals, readiness and watchdog (sd_notify), folders.
 *
 *   loop <- io (umad port) <- mad <- fabric <- control
 *
 * Ahead of all of them the helper is forked (fm/os/helper.h); behind all of them the process
 * gives up what it does not need any more (fm/os/sandbox.h).
 *
 * What only looks on (http) may be missing: it is tried again. They are taken down in reverse. Exit
 * codes: 0 ended by request, 1 failed: another start may do better, 2 usage or configuration: none
 * will before somebody changes that. Ready (Type=notify) is when the control socket listens: the
 * port, its link and the fabric may take as long as they like to be there, and STATUS= says what is
 * awaited.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <malloc.h>
#include <unistd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include "fm/control/control.h"
#include "fm/conf/conf.h"
#include "fm/os/helper.h"
#include "fm/loop/log.h"
#include "fm/loop/loop.h"
#include "fm/os/sandbox.h"
#include "fm/os/service_status.h"
#include "fm/fabric/fabric.h"
#include "fm/rooms.h"
#include "fm/sm/module.h"
#include "fm/state/disk.h"
#include "fm/http/http.h"
#include "fm/mad/io.h"
#include "fm/mad/mad.h"
#include "fm/partition/module.h"
#include "topology/base/mem.h"

#define DEFAULT_CONF   "/etc/fmd/fmd.conf"
#define STATUS_US      1000000
#define STATUS_SOON_US 250000  /* at 16,384 HCAs a status takes 1 to 2 ms of the loop */
#define HAND_OVER_US   3000000 /* at the end, at most */
#define END_US	       8000000 /* that it still answers hosts at the end: below TimeoutStopSec */
#define LOOK_US	       1000000 /* after calls that were refused */
#define FAILED_START_S 2
#define EXIT_USAGE     2

struct daemon {
	const char *conf_path;	 /* NULL = defaults */
	const char *socket_path; /* from -s, else NULL */
	struct conf conf;
	struct helper *helper;
	struct loop *loop;
	struct mad *mad;
	struct fabric *fabric;
	struct control *control;
	struct http *http; /* NULL = none, or its address is not available yet */
	struct loop_timer *http_retry;
	struct loop_timer *watchdog, *status, *look;
	struct loop_timer *ending; /* NULL = nobody asked for the end */
	uint64_t ending_us;	   /* when the end was asked for */
	uint64_t watchdog_us;	   /* between two signs of life; 0 = nobody waits for any */
	char sent[SERVICE_STATUS]; /* STATUS= as last sent */
	bool status_soon;	   /* an event asks for it */
	bool observe;		   /* --observe */
	char kept[256];		   /* what the sandbox could not give up; "" = nothing */
	unsigned refused;	   /* calls, as last reported */
};

/* ---- Configuration --------------------------------------------------------------------------- */

static struct mad_conf mad_conf_of(const struct conf_mad *conf)
{
	return (struct mad_conf){
		.window_max = conf->max_wire_smps,
		.window_device = conf->max_wire_smps_per_device,
		.timeout_ms = conf->timeout_ms,
		.retries = conf->retries,
	};
}

/* The alert stands until a reload finds it better. */
static void note_secret(void *arg, const char *key, const char *why)
{
	const struct daemon *d = arg;

	if (d->fabric)
		fabric_trouble(d->fabric, key, why);
	else if (why) /* --check-config */
		fprintf(stderr, "%s: warning: %s: %s\n", d->conf_path, key, why);
}

static int reload(void *arg, char *err, size_t err_size)
{
	struct daemon *d = arg;
	struct conf next;

	if (!d->conf_path) {
		snprintf(err, err_size, "fmd runs without a configuration file");
		return -1;
	}
	if (conf_load(d->conf_path, &next, err, err_size))
		return -1;
	if (conf_check_reload(&d->conf, &next, err, err_size))
		return -1;

	/* What is opened once stays as it is until a restart. */
	const char *path = d->conf_path;

	if (strcmp(d->conf.port.guids, next.port.guids) ||
	    strcmp(d->conf.port.devices, next.port.devices) || d->conf.port.num != next.port.num ||
	    strcmp(d->conf.state_dir, next.state_dir) || strcmp(d->conf.socket, next.socket) ||
	    strcmp(d->conf.http.listen, next.http.listen) || d->conf.sandbox != next.sandbox ||
	    (d->conf.sm.observe != next.sm.observe && !d->observe))
		log_line(LOG_CORE, LOG_WARNING,
			 "%s: port, state_dir, socket, http_listen, sandbox and observe change at "
			 "a restart",
			 path);
	next.port = d->conf.port;
	strcpy(next.state_dir, d->conf.state_dir);
	strcpy(next.socket, d->conf.socket);
	strcpy(next.http.listen, d->conf.http.listen);
	next.sandbox = d->conf.sandbox;
	next.sm.observe = d->conf.sm.observe;

	if (d->http && http_configure(d->http, &next.http, err, err_size))
		return -1;
	helper_configure(d->helper);
	d->conf = next;
	log_set_level(-1, next.log_level);

	struct mad_conf mad_conf = mad_conf_of(&next.mad);

	mad_configure(d->mad, &mad_conf);
	fabric_configure(d->fabric, &d->conf);
	conf_judge_secrets(&d->conf, note_secret, d);
	log_line(LOG_CORE, LOG_NOTICE, "%s: reloaded", d->conf_path);
	return 0;
}

static void hangup_cb(void *arg)
{
	char err[512] = "";

	sd_notify(0, "RELOADING=1");
	if (reload(arg, err, sizeof(err)))
		log_line(LOG_CORE, LOG_ERR, "configuration unchanged: %s", err);
	sd_notify(0, "READY=1");
}

/* ---- The service manager --------------------------------------------------------------------- */

static void stop_cb(void *arg)
{
	struct daemon *d = arg;

	loop_stop(d->loop);
}

/* Or not: then nobody is waited for. */
static void handed_over(void *arg, json_t *result, const char *error)
{
	struct daemon *d = arg;
	uint64_t spent_us = loop_now_us(d->loop) - d->ending_us;

	loop_timer_set(d->ending, spent_us < END_US ? END_US - spent_us : 0);
	sm_when_parted(d->fabric, stop_cb, d);
}

/*
 * A standby that takes over at once is worth some milliseconds, to all hosts, and so is who answers
 * them until it does; a second signal does not wait for that.
 */
static void terminate_cb(void *arg)
{
	struct daemon *d = arg;

	if (d->ending) {
		loop_stop(d->loop);
		return;
	}
	log_line(LOG_CORE, LOG_NOTICE, "ending on request");
	sd_notify(0, "STOPPING=1");
	d->ending_us = loop_now_us(d->loop);
	d->ending = loop_timer_new(d->loop, stop_cb, d);
	loop_timer_set(d->ending, HAND_OVER_US);
	sm_hand_over(d->fabric, NULL, handed_over, d);
}

static void watchdog_cb(void *arg)
{
	struct daemon *d = arg;

	sd_notify(0, "WATCHDOG=1");
	loop_timer_set(d->watchdog, d->watchdog_us);
}

static void status_cb(void *arg)
{
	struct daemon *d = arg;
	json_t *status = fabric_status(d->fabric);
	char text[SERVICE_STATUS];

	service_status(status, text);
	json_decref(status);
	if (strcmp(text, d->sent)) {
		strcpy(d->sent, text);
		sd_notify(0, text);
	}
	d->status_soon = false;
	loop_timer_set(d->status, STATUS_US);
}

/* What an event reports may still be under way. */
static void event_cb(void *arg, const json_t *event)
{
	struct daemon *d = arg;

	if (!d->status_soon)
		loop_timer_set(d->status, STATUS_SOON_US);
	d->status_soon = true;
}

/* What was refused is an attack or a defect: the alert stands as long as the process lives. */
static void look_cb(void *arg)
{
	struct daemon *d = arg;
	const char *latest;
	unsigned refused = sandbox_refused(&latest);
	char text[256];

	if (refused != d->refused) {
		d->refused = refused;
		array_printf(text, "%u system calls were refused, the latest: %s", refused, latest);
		fabric_trouble(d->fabric, "sandbox", text);
	}
	fabric_trouble(d->fabric, "helper",
		       helper_is_gone(d->helper) ? "the process that runs hooks has ended" : NULL);
	loop_timer_set(d->look, LOOK_US);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* Makes the last folder of a path of that length, if it is missing. 0, or -1, which it logs. */
static int make_dir(const char *from, int length, mode_t mode)
{
	char *path = mem_printf("%.*s", length, from);
	struct stat st;
	int status = 0;

	if (mkdir(path, mode) && errno != EEXIST) {
		log_line(LOG_CORE, LOG_ERR, "directory %s: %s", path, strerror(errno));
		status = -1;
	} else if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		log_line(LOG_CORE, LOG_ERR, "%s is not a directory", path);
		status = -1;
	}
	free(path);
	return status;
}

/* The fabric is managed whether anybody can look on or not. */
static void open_http(void *arg)
{
	struct daemon *d = arg;
	char err[256] = "";

	d->http = http_new(d->loop, d->fabric, &d->conf.http, err, sizeof(err));
	fabric_trouble(d->fabric, "http", d->http ? NULL : err);
	if (!d->http && d->conf.retry_interval_ms)
		loop_timer_set(d->http_retry, d->conf.retry_interval_ms * 1000ull);
}

static void confine_helper(void)
{
	char err[256];

	if (sandbox_enter_helper(err, sizeof(err)))
		log_line(LOG_CORE, LOG_ERR, "sandbox of the helper: %s", err);
}

/* Ahead of all descriptors and threads. */
static int open_helper(struct daemon *d)
{
	char err[256];

	d->helper = helper_start(&d->conf, d->conf_path,
				 d->conf.sandbox == SANDBOX_OFF ? NULL : confine_helper, err,
				 sizeof(err));
	if (d->helper)
		return 0;
	log_line(LOG_CORE, LOG_ERR, "%s", err);
	return EXIT_FAILURE;
}

/* 0, or the exit code with the reason logged. */
static int daemon_open(struct daemon *d)
{
	const char *socket_path = d->socket_path ? d->socket_path : d->conf.socket;
	const char *slash = strrchr(socket_path, '/');
	const struct conf_port *port = &d->conf.port;
	struct mad_conf mad_conf = mad_conf_of(&d->conf.mad);
	char err[512] = "";

	log_set_level(-1, d->conf.log_level);
	/* Operators of other groups reach the socket through its folder. */
	if (make_dir(d->conf.state_dir, strlen(d->conf.state_dir), 0700) ||
	    (slash && slash != socket_path && make_dir(socket_path, slash - socket_path, 0755)))
		return EXIT_FAILURE;
	umask(0077); /* files of state_dir hold keys */
	if (state_lock(d->conf.state_dir))
		return EXIT_FAILURE;
	d->loop = loop_new();
	helper_attach(d->helper, d->loop);
	d->mad = mad_new(d->loop, io_umad_new(d->loop, port->guids, port->devices, port->num),
			 &mad_conf);
	d->fabric = fabric_new(d->loop, d->mad, &d->conf, fabric_rooms);
	d->control = control_new(d->loop, d->fabric, socket_path, reload, d, err, sizeof(err));
	if (!d->control) {
		log_line(LOG_CORE, LOG_ERR, "%s", err);
		return EXIT_FAILURE;
	}
	conf_judge_secrets(&d->conf, note_secret, d);
	d->http_retry = loop_timer_new(d->loop, open_http, d);
	if (*d->conf.http.listen)
		open_http(d);

	/*
	 * A fabric is managed without it as well, so what can't be given up is reported and does
	 * not end the process. State that can't be used without capabilities does: all LIDs would
	 * be assigned again.
	 */
	char rights_err[512];

	if (sandbox_enter(d->conf.sandbox, d->kept, sizeof(d->kept))) {
		log_line(LOG_CORE, LOG_ERR, "sandbox: %s", d->kept);
		fabric_trouble(d->fabric, "sandbox", d->kept);
	}
	d->look = loop_timer_new(d->loop, look_cb, d);
	loop_timer_set(d->look, LOOK_US);
	if (d->conf.sandbox == SANDBOX_OFF ||
	    !sandbox_check_folder(d->conf.state_dir, rights_err, sizeof(rights_err)))
		return 0;
	log_line(LOG_CORE, LOG_ERR, "%s", rights_err);
	return EXIT_FAILURE;
}

static int daemon_run(struct daemon *d)
{
	signal(SIGPIPE, SIG_IGN);
	loop_signal(d->loop, SIGHUP, hangup_cb, d);
	loop_signal(d->loop, SIGCONT, loop_continued, d->loop);
	loop_signal(d->loop, SIGTERM, terminate_cb, d);
	loop_signal(d->loop, SIGINT, terminate_cb, d);
	log_line(LOG_CORE, LOG_NOTICE, "fmd %s started, configuration %s", FMD_VERSION,
		 d->conf_path ? d->conf_path : "default");

	uint64_t limit_us = 0;

	if (sd_watchdog_enabled(0, &limit_us) > 0)
		d->watchdog_us = limit_us / 2;
	d->watchdog = loop_timer_new(d->loop, watchdog_cb, d);
	d->status = loop_timer_new(d->loop, status_cb, d);
	if (d->watchdog_us)
		watchdog_cb(d);
	if (getenv("NOTIFY_SOCKET")) {
		fabric_follow(d->fabric, event_cb, d);
		loop_timer_set(d->status, 0);
	}
	sd_notify(0, "READY=1");

	fabric_start(d->fabric);

	int status = sm_failed(d->fabric) ? 0 : loop_run(d->loop);

	if (status)
		log_line(LOG_CORE, LOG_ERR, "loop: %s", strerror(-status));
	if (sm_failed(d->fabric))
		log_line(LOG_CORE, LOG_ERR, "%s", sm_failed(d->fabric));
	return status || sm_failed(d->fabric) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- Command line ---------------------------------------------------------------------------- */

static const char usage[] = "usage: fmd [-c FILE] [-s SOCKET] [--observe]\n"
			    "       fmd --check-config FILE | --version | --help\n"
			    "\n"
			    "  -c FILE     configuration, default " DEFAULT_CONF " if it is there\n"
			    "  -s SOCKET   control socket, instead of the configuration's\n"
			    "  --observe   changes nothing in the fabric, as with observe = true\n";

/* -1 = go on; else the exit code. */
static int read_options(struct daemon *d, int argc, char **argv)
{
	static const struct option longs[] = { { "check-config", required_argument, NULL, 'C' },
					       { "config", required_argument, NULL, 'c' },
					       { "socket", required_argument, NULL, 's' },
					       { "observe", no_argument, NULL, 'O' },
					       { "version", no_argument, NULL, 'V' },
					       { "help", no_argument, NULL, 'h' },
					       { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "c:s:h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			d->conf_path = optarg;
			break;
		case 's':
			d->socket_path = optarg;
			break;
		case 'O':
			d->observe = true;
			break;
		case 'C': {
			const char *path = optarg;
			char err[CONF_ERROR_SIZE];

			d->conf_path = path;
			if (!conf_load(path, &d->conf, err, sizeof(err)) &&
			    !fabric_check_conf(fabric_rooms, &d->conf, err, sizeof(err))) {
				conf_judge_secrets(&d->conf, note_secret, d);
				return EXIT_SUCCESS;
			}
			fprintf(stderr, "%s\n", err);
			return EXIT_FAILURE;
		}
		case 'V':
			puts("fmd " FMD_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "fmd: unknown argument %s\n%s", argv[optind], usage);
	return EXIT_USAGE;
}

/* The default file may be absent; one that was named may not. */
static int load_conf(struct daemon *d)
{
	struct stat st;
	char err[CONF_ERROR_SIZE], *rest = err;

	conf_default(&d->conf);
	if (!d->conf_path) {
		if (stat(DEFAULT_CONF, &st) && errno == ENOENT)
			return 0;
		d->conf_path = DEFAULT_CONF;
	}
	if (conf_load_but_partitions(d->conf_path, &d->conf, err, sizeof(err))) {
		while (rest)
			log_line(LOG_CORE, LOG_ERR, "%s", strsep(&rest, "\n"));
		return EXIT_USAGE;
	}
	if (!conf_check_partitions(&d->conf, err, sizeof(err)))
		return 0;
	log_line(LOG_CORE, LOG_ERR, "%s", err);
	return partitions_kept(&d->conf) ? 0 : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct daemon d = { 0 };

	/*
	 * An update takes megabytes for a moment. Past a fixed size they are given back to the
	 * system at once; by glibc's own moving threshold they would stay in the heap, between what
	 * lives longer.
	 */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);

	int status = read_options(&d, argc, argv);

	if (status >= 0)
		return status;
	status = load_conf(&d);
	d.conf.sm.observe |= d.observe;
	if (!status)
		status = open_helper(&d);
	if (!status)
		status = daemon_open(&d);
	/* The service manager starts it again at once, which is meant for one that was at work. */
	if (status && getenv("NOTIFY_SOCKET"))
		sleep(FAILED_START_S);
	if (!status)
		status = daemon_run(&d);
	loop_timer_free(d.look);
	if (d.fabric)
		fabric_unfollow(d.fabric, &d);
	loop_timer_free(d.status);
	loop_timer_free(d.watchdog);
	loop_timer_free(d.ending);
	loop_timer_free(d.http_retry);
	http_free(d.http);
	control_free(d.control);
	if (d.fabric)
		fabric_free(d.fabric);
	if (d.mad)
		mad_free(d.mad);
	helper_end(d.helper);
	loop_free(d.loop);

	return status;
}
