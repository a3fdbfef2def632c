/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source: where the state of hosts' NVLinks comes from: exporters that fmd requests, kernel logs
 * that it receives, health reports of other programs; and a file of other names of hosts, which is
 * opened, replaced and retried like them. Each is a row of the table in intake_sources.c;
 * ARCHITECTURE.md has the steps to add one.
 *
 * A source passes what it learns to state_monitor.h: a state that is reported repeatedly by
 * health_source_add() and health_hear(), a line of a kernel log by health_hear_log(). Then it calls
 * home->heard(). A source decides nothing: state_health.c has hold-down, guard and trust.
 */
#pragma once

#include "fm/nvswitch/state_monitor.h"

/* Of names of sources, and of hosts. */
#define SOURCE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* ---- A source -------------------------------------------------------------------------------- */

/* A text of the configuration, by its place in struct conf_nvswitch; 0 = none. */
#define SOURCE_TEXT(name) (offsetof(struct conf_nvswitch, name) + 1)
#define SOURCE_TEXTS	  6

/* NULL members are not needed; `source` is what open() returned. */
struct source_ops {
	const char *name; /* in the summary's inputs and in alerts */
	/* It is opened with these; with all of the first three empty it is not wanted. */
	uint16_t texts[SOURCE_TEXTS];
	/*
	 * It can't be opened twice, so it stays open if its configuration is equal. Of the others
	 * open() only reads files, and needs no loop: so these are checked.
	 */
	bool stays;
	/*
	 * Opens it aside, before the configuration that names it counts: it must not change
	 * anything that others see yet, and home->conf is still the configuration before. NULL with
	 * the reason in err.
	 */
	void *(*open)(struct source_home *home, const struct conf_nvswitch *conf, char *err);
	void (*close)(void *source);
	/* It is used from now on; before: the one that it replaces, closed next. NULL = none. */
	void (*start)(struct source_home *home, void *source, void *before);
	/* Adds all its health sources, whenever any have changed. */
	void (*announce)(void *source);
	/* The fabric's hosts have changed; true = so has what is announced. */
	bool (*hosts)(void *source);
};
extern const struct source_ops source_journal, source_socket; /* intake_logs.c */
/* Of hosts and of racks (intake_scrape.c): by URLs of a file, or a pattern for all hosts. */
extern const struct source_ops source_exporters;

/* ---- Health reports -------------------------------------------------------------------------- */

struct health_report; /* module.h */
/* The command `health-report`: 0, or -1 with the reason in err; where all is checked. */
int source_report_hear(struct source_home *home, const struct health_report *report, char *err);
/* A host's report was read from the state file: it has a source, silent so far. */
void source_report_recall(struct source_home *home, unsigned host,
			  const struct memory_report *report);

/* ---- Kernel logs ----------------------------------------------------------------------------- */

/*
 * From a unix socket that a collector of this machine writes to (journald, rsyslog), and from
 * journals of this machine or others. Each line is assigned to the host that it is about. Lines
 * that are not about NVLinks are dropped at once, so nothing here grows with what is sent.
 */
struct log_intake;

/* The caller's, which frees it by free(3); `home` is borrowed until then. */
struct log_intake *log_intake_new(struct source_home *home);

/* New documents, which the caller owns: the counts; a row for the collector, once it wrote. */
json_t *log_intake_json(const struct log_intake *intake);
json_t *log_intake_senders(const struct log_intake *intake);

/* ---- Messages -------------------------------------------------------------------------------- */

#define SYSLOG_LINE 2048 /* of a message; the rest of a longer one is not read */
#define SYSLOG_HOST 128

struct syslog_message {
	char host[SYSLOG_HOST]; /* "" = none; "relay/host" and "host/relay" are not split */
	const char *text;	/* behind the header */
	size_t len;
};
/*
 * RFC 3164 (and rsyslog's with an ISO time, and without time or host as devices and forwarders send
 * it), RFC 5424. False: the line has none of the forms, or an invalid host name. *message points
 * into it.
 */
bool syslog_read(const char *line, size_t len, struct syslog_message *message);
/* Whether it has only characters of host names, addresses and chains of relays, safe to show. */
bool syslog_host_is_text(const char *host);

/* ---- Streams of one connection --------------------------------------------------------------- */

/*
 * The first byte says in which form messages come: as lines of syslog; as records of journald in
 * the export format (https://systemd.io/JOURNAL_EXPORT_FORMATS: journald's ForwardToSocket=,
 * `journalctl -o export`, which the native protocol shares), or as a JSON object a line
 * (`journalctl -o json`). Of a record only _HOSTNAME and MESSAGE are read.
 */

#define LOG_STREAM_LINE 32768 /* bytes of a line; the rest of a longer one is not read */

struct log_stream { /* zeroed at first */
	uint8_t form, field;
	bool any;      /* of the record under way */
	bool lost;     /* up to an empty line: what stood there is no field */
	bool sizing;   /* 8 bytes say how long the value is, which may have newlines in it */
	uint64_t left; /* of that value, and the newline behind it */
	uint32_t used, text_used;
	char *line; /* [LOG_STREAM_LINE] */
	char text[SYSLOG_LINE];
	struct syslog_message message;
};
/* Takes a message, valid during the call. known false = it is malformed. */
typedef void log_stream_fn(void *arg, bool known, const struct syslog_message *message);

/* Takes bytes of a stream, and calls fn with each message that is complete. */
void log_stream_feed(struct log_stream *stream, const char *data, size_t len, log_stream_fn *fn,
		     void *arg);
/* Ends it: a last line of syslog needs no newline, a record that is not complete is dropped. */
void log_stream_end(struct log_stream *stream, log_stream_fn *fn, void *arg);

/* ---- Requests -------------------------------------------------------------------------------- */

/*
 * HTTP and HTTPS GETs on the loop, by libcurl, for responses that are read as they arrive.
 *
 * Nothing blocks: names are resolved on the loop too. One time limit holds for a whole request, so
 * a server that sends slowly does not hold it up. A request uses one connection, and follows a
 * redirect within its host only. Nothing of a response is kept here, so it may be of any length.
 * https accepts only servers whose certificate the CA file signs.
 */

struct fetch;

/*
 * Loads libcurl, unless that is done: before any other call here. 0, or -1 with `KEY: reason` in
 * err; it may be tried again. key: of the configuration, the one that needs it.
 */
int fetch_load(const char *key, char *err);

/* How fmd proves itself to exporters: lines `KIND VALUE` of a file, each kind once. */
enum {
	FETCH_BASIC,  /* USER:PASSWORD */
	FETCH_BEARER, /* a token */
	FETCH_CERT,
	FETCH_KEY,   /* files of a client's certificate and its key, PEM */
	FETCH_PROXY, /* URL with a numeric address */
	FETCH_CREDENTIALS
};
struct fetch_credentials {
	char values[FETCH_CREDENTIALS][2048]; /* "" = none */
};
/* Reads a file of them; "" = there are none. 0, or -1 with `FILE:LINE: reason` in err. */
int fetch_credentials_read(struct fetch_credentials *credentials, const char *path, char *err);

struct fetch_conf {
	unsigned timeout_ms; /* for a whole request */
	unsigned connect_ms; /* for the connection */
	size_t body_max;     /* bytes; 0 = any number */
	const char *ca_file; /* "" = no https */
	const struct fetch_credentials *credentials;
};
/*
 * The caller owns it; the loop and what conf points to are borrowed. NULL in a simulated loop.
 * All its jobs have ended or are cancelled when it is freed; NULL is fine.
 */
struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf);
void fetch_free(struct fetch *fetch);

struct fetch_url {
	bool tls;
	uint16_t port;
	char host[256];
	char text[768]; /* as written */
};
/* 0, or -1: it is no http:// or https:// URL, or too long for *url. */
int fetch_url_parse(const char *text, struct fetch_url *url);

struct fetch_job;
struct fetch_ops {
	/* Takes a piece of the body of a 200 response. Returns NULL, or why the request ends. */
	const char *(*data)(void *arg, const char *data, size_t len);
	/*
	 * Called once, last, from the loop; the job is freed then. error NULL = the body is
	 * complete. address: the server's numeric address, "" = there was no connection.
	 */
	void (*done)(void *arg, const char *error, const char *address);
};
/*
 * Starts a request and returns its job, which fetch owns, valid until done() or fetch_cancel().
 * `ops` must live as long; the URL is copied. address: numeric, where to connect; NULL or "" = the
 * URL's host is resolved. Failures are reported by done(), never within the call.
 */
struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg);
/* Ends and frees a job without a callback. */
void fetch_cancel(struct fetch_job *job);

/* ---- All sources that one configuration wants ------------------------------------------------ */

/*
 * When fmd starts, a source that cannot be opened (a port that another daemon has, a list that does
 * not exist yet) raises an alert and is retried; the others work. Later configurations are applied
 * as a whole or refused, and the one before stays; a source that was not open before and has the
 * same configuration is no reason to refuse.
 */

struct sources;

/* Without open sources. The caller owns it; `home` is borrowed. Free closes all. */
struct sources *sources_new(struct source_home *home);
void sources_free(struct sources *sources);

/*
 * Opens what conf wants beside what is open: 0, and sources_take() follows; or -1 with the reason
 * in err: the configuration is refused and nothing has changed.
 */
int sources_open(struct sources *sources, const struct conf_nvswitch *conf, char *err);
/* Replaces the sources by what was opened; home->conf is the new one then. */
void sources_take(struct sources *sources);
/* Whether the files that a configuration names can be used: 0, or -1 with the reason in err. */
int sources_check(const struct conf_nvswitch *conf, char *err);
/* Which hosts are present has changed. */
void sources_hosts_changed(struct sources *sources);

/* Adds "inputs", whether each source that is wanted is open, and "input_errors", why one is not. */
void sources_add_inputs(const struct sources *sources, json_t *doc);
