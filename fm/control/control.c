/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/control/control.h"
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <unistd.h>
#include "fm/adaptive/module.h"
#include "fm/audit/module.h"
#include "fm/control/answer.h"
#include "fm/control/peer.h"
#include "fm/hosts/module.h"
#include "fm/loop/child.h"
#include "fm/os/listener.h"
#include "fm/perf/module.h"
#include "fm/registers/module.h"
#include "fm/sm/module.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define NO_GROUP ((gid_t)-1)

static gid_t group_id(const char *name)
{
	const struct group *group = getgrnam(name);

	return group ? group->gr_gid : NO_GROUP;
}

bool peer_rules_share(const struct peer_rules *rules)
{
	return rules->readers != NO_GROUP || rules->operators != NO_GROUP;
}

static bool is_member(gid_t group, const gid_t *groups, unsigned count)
{
	return any_of(i, 0, count, group != NO_GROUP && groups[i] == group);
}

enum peer_rights peer_judge(const struct peer_rules *rules, uid_t uid, const gid_t *groups,
			    unsigned count)
{
	if (uid == 0 || uid == rules->self || is_member(rules->operators, groups, count))
		return PEER_OPERATE;
	return is_member(rules->readers, groups, count) ? PEER_READ : PEER_NONE;
}

struct peer peer_of(const struct peer_rules *rules, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	struct peer peer = { .uid = (uid_t)-1 };

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return peer;

	/* The supplementary groups go behind the primary one. */
	size = 0;
	getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size); /* ERANGE: how much there is */

	gid_t *groups = mem_array(groups, 1 + size / sizeof(gid_t));

	groups[0] = who.gid;
	if (size && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &size))
		size = 0;
	peer.uid = who.uid;
	peer.rights = peer_judge(rules, who.uid, groups, 1 + size / sizeof(gid_t));
	free(groups);
	return peer;
}

/*
 * The control socket's server: connections, lines in, answers out.
 *
 * A client's requests are answered one after another in the order they came. There are three ways
 * to an answer: at once, from a child process (answers that grow with the fabric, see child.c), or
 * by an act of the fabric's whose callback brings the result. While one is on its way the client's
 * further lines wait in its input buffer.
 *
 * Nothing here waits: input is bounded by the line buffer, output is queued and a child is held
 * back while the queue is long. A client that closes its sending half still gets what it asked for;
 * one whose connection breaks takes its child with it, and its act goes on. A client that follows
 * events is busy with that until it goes; its events are queued from wherever they happen, and sent
 * by the loop.
 *
 * Who may ask what is the kernel's word on the process at the other end (peer.h). A client that
 * asks for it ("progress": true) gets a line {"progress": true} every PROGRESS_US until its answer
 * begins: what takes long is not taken for a daemon that hangs.
 *
 * client_settle() ends every callback: it alone decides what to read, to write, and when a client
 * is over.
 */

#define LINE_SIZE   65536
#define LINE_MOST   (8u << 20) /* with a plan of links; memory that is not written costs nothing */
#define CLIENTS_MAX 32
#define USER_MAX    16 /* of them of one user, but root */
#define PROGRESS_US 1000000
#define OUT_HIGH                                                                                   \
	(256 * 1024) /* bytes queued from which on a child is held back, a follower dropped */

enum client_answer { /* the present one: what has gone out of it */
		     ANSWER_NOTHING,
		     ANSWER_BEGUN,
		     ANSWER_TEXT_DUE, /* begun: its text follows when all before it has gone out */
};

enum client_follow {
	FOLLOWS_NOTHING,
	FOLLOWS_EVENTS, /* gets each that it asked for */
	FOLLOWS_LATE,	/* too slowly: gets no more */
};

struct client {
	struct control *control;
	struct client *next;
	int fd;
	struct peer peer;
	struct loop_fd *watch;
	struct loop_timer *progress; /* NULL until a request wants it */
	unsigned events;	     /* watched now */
	struct bytes out;
	struct child *child; /* writes the present answer */
	enum client_answer answer;
	const struct command *command; /* the present one, for the child */
	json_t *args;		       /* its arguments */
	bool acting;		       /* the fabric owes a callback */
	bool gone;		       /* disconnected; nothing but that callback is waited for */
	enum client_follow follow;
	struct event_query events_asked; /* by `follow` */
	bool serving;			 /* inside client_serve() */
	bool eof;			 /* the peer sends no more */
	bool broken;			 /* to be dropped */
	uint64_t waits_us;		 /* since when for its share of the time; 0 = it does not */
	size_t in_len;
	char in[LINE_MOST];
};

struct control {
	struct loop *loop;
	struct command_env env;
	struct children *children;
	struct client *clients;
	unsigned nclients;
	struct peer_rules rules;
	struct listener *listener;
	struct loop_timer *rest; /* armed: requests wait for their share of the time */
	int fd;
	char *path;
};

/* ---- Output ---- */

static void client_flush(struct client *c)
{
	while (bytes_held(&c->out) && !c->broken) {
		ssize_t len = send(c->fd, c->out.data + c->out.start, bytes_held(&c->out),
				   MSG_NOSIGNAL | MSG_DONTWAIT);

		if (len >= 0)
			c->out.start += len;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			c->broken = true;
	}
}

static json_t *refusal(const char *error)
{
	return json_pack("{s:b, s:s}", "ok", 0, "error", error);
}

/*
 * The answer's line; takes the reference. NULL = refused with `error`, which may be cut within a
 * character.
 */
static char *answer_line(json_t *result, const char *error)
{
	json_t *answer =
		result ? json_pack("{s:b, s:o}", "ok", 1, "result", result) : refusal(error);

	if (!answer)
		answer = refusal("a name in the answer is not valid UTF-8");

	char *text = json_dumps(answer, JSON_COMPACT);

	json_decref(answer);
	return text;
}

static void client_reply(struct client *c, json_t *result, const char *error)
{
	char *text = answer_line(result, error);

	bytes_add(&c->out, text, strlen(text));
	bytes_add(&c->out, "\n", 1);
	free(text);
}

/* ---- Answers ---- */

static void client_settle(struct client *c);

/* In the child. */
static int child_answer(void *arg, FILE *out)
{
	const struct client *c = arg;
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = NULL;

	if (!command_can_stream(c->command, c->args))
		result = command_answer(&c->control->env, c->command, c->args, err);
	else if (command_stream(&c->control->env, c->command, c->args, "{\"ok\":true,\"result\":[",
				out, err)) {
		fputs("]}\n", out);
		return ferror(out) ? -1 : 0;
	}
	fprintf(out, "%s\n", answer_line(result, err));
	return ferror(out) ? -1 : 0;
}

/* In the child. It ends with a NUL: a reader knows by that that it did not break off. */
static int child_text(void *arg, FILE *out)
{
	const struct client *c = arg;

	if (c->command->run->text(&c->control->env, c->args, out))
		return -1;
	fputc('\0', out);
	return ferror(out) ? -1 : 0;
}

static void child_data_cb(void *arg, const char *data, size_t len)
{
	struct client *c = arg;

	c->answer = ANSWER_BEGUN;
	bytes_add(&c->out, data, len);
	client_settle(c);
}

static void child_end_cb(void *arg, bool whole)
{
	struct client *c = arg;

	c->child = NULL;
	json_decref(c->args);
	c->args = NULL;
	if (!whole && !c->answer)
		client_reply(c, NULL, "the answer could not be written");
	else if (!whole)
		c->broken = true;
	client_settle(c);
}

static const struct child_ops child_ops = {
	.write = child_answer,
	.data = child_data_cb,
	.end = child_end_cb,
};

static const struct child_ops text_ops = { .write = child_text, .end = child_end_cb };

static void answer_by_child(struct client *c, const struct command *command, json_t *args)
{
	if (command->run->before)
		command->run->before(&c->control->env, args);
	c->command = command;
	c->args = json_incref(args);
	c->child = child_start(c->control->children, &child_ops, c, -1);
	if (c->child)
		return;
	json_decref(c->args);
	c->args = NULL;
	client_reply(c, NULL,
		     "cannot start a process for the answer: the system's limit is reached");
}

static void client_free(struct client *c)
{
	struct client **link = &c->control->clients;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	free(c);
}

static void operation_done_cb(void *arg, json_t *result, const char *error)
{
	struct client *c = arg;
	json_t *args = c->args; /* of the answer that follows */

	c->acting = false;
	if (c->gone) {
		client_free(c);
		return;
	}
	c->args = NULL;
	if (args && !error) {
		if (result && c->command->run->begin_with)
			json_object_update(args, result);
		answer_by_child(c, c->command, args);
	} else
		client_reply(c, error ? NULL : result ? json_incref(result) : json_object(), error);
	json_decref(args);
	if (!c->serving)
		client_settle(c);
}

/* ---- Followers ---- */

static void client_watch(struct client *c);

static void event_cb(void *arg, const json_t *event)
{
	struct client *c = arg;

	if (c->follow == FOLLOWS_LATE || !event_query_has(&c->events_asked, event))
		return;
	if (bytes_held(&c->out) > OUT_HIGH) {
		client_reply(c, NULL, "events were not read fast enough: some are lost");
		c->follow = FOLLOWS_LATE;
		c->eof = true;
		c->in_len = 0;
	} else {
		char *text = json_dumps(event, JSON_COMPACT);

		bytes_add(&c->out, "{\"event\":", 9);
		bytes_add(&c->out, text, strlen(text));
		bytes_add(&c->out, "}\n", 2);
		free(text);
	}
	client_watch(c);
}

/* ---- Progress ---- */

static bool client_busy(const struct client *c)
{
	return c->acting || c->child || c->answer == ANSWER_TEXT_DUE || c->follow == FOLLOWS_EVENTS;
}

static void progress_cb(void *arg)
{
	struct client *c = arg;

	if (!client_busy(c) || c->follow || c->answer)
		return;
	bytes_add(&c->out, "{\"progress\":true}\n", 18);
	loop_timer_set(c->progress, PROGRESS_US);
	client_watch(c);
}

/* ---- Requests ---- */

static void client_dispatch(struct client *c, const char *name, json_t *args)
{
	const struct command *command = command_find(name);
	const struct command_env *env = &c->control->env;
	char err[COMMAND_ERROR_SIZE] = "";

	c->answer = ANSWER_NOTHING;
	if (!command) {
		array_printf(err, "unknown command %s", name);
		client_reply(c, NULL, err);
	} else if (c->peer.rights != PEER_OPERATE && !command_is_read_only(command, args)) {
		client_reply(c, NULL,
			     "not permitted: only root and members of group " PEER_OPERATE_GROUP
			     " may use this command");
	} else if (command_is_operation(command, args)) {
		const char *refusal = sm_refuses(env->fabric);

		c->acting = true;
		c->command = command;
		if (command->run->answers_after) {
			c->args = json_copy(args);
			if (command->flag_operates)
				json_object_del(c->args, command->flag);
		}
		if (refusal && !command->run->of_standby) {
			operation_done_cb(c, NULL, refusal);
			return;
		}
		command_begin(command, env->fabric, args, operation_done_cb, c);
	} else if (command_is_long(command, args)) {
		answer_by_child(c, command, args);
	} else {
		json_t *result = command_answer(env, command, args, err);
		int count;

		if (result && command->run->follows &&
		    events_query(env->fabric, args, &c->events_asked, &count, err)) {
			c->follow = FOLLOWS_EVENTS;
			fabric_follow(env->fabric, event_cb, c);
		} else if (result && command->run->text) {
			/* The text is for a child, which takes the client's socket. */
			c->answer = ANSWER_TEXT_DUE;
			c->command = command;
			c->args = json_incref(args);
		}
		client_reply(c, result, err);
	}
}

static void client_request(struct client *c, const char *line, size_t len)
{
	json_t *request, *args = NULL;
	const char *name = NULL;
	json_error_t why;
	int progress = 0;

	request = json_loadb(line, len, 0, &why);
	if (!request || json_unpack_ex(request, &why, JSON_STRICT, "{s:s, s?o, s?b}", "cmd", &name,
				       "args", &args, "progress", &progress)) {
		char err[COMMAND_ERROR_SIZE];

		array_printf(err, "invalid request: %s", why.text);
		client_reply(c, NULL, err);
	} else if (args && !json_is_object(args)) {
		client_reply(c, NULL, "invalid request: args is not an object");
	} else {
		args = args ? json_incref(args) : json_object();
		client_dispatch(c, name, args);
		json_decref(args);
		if (progress) {
			if (!c->progress)
				c->progress = loop_timer_new(c->control->loop, progress_cb, c);
			if (client_busy(c))
				loop_timer_set(c->progress, PROGRESS_US);
		}
	}
	json_decref(request);
}

/* ---- Clients ---- */

/* What it asked for continues, and the callback of that ends it. */
static void client_end(struct client *c)
{
	c->gone = true;
	c->waits_us = 0;
	c->control->nclients--;
	if (c->follow)
		fabric_unfollow(c->control->env.fabric, c);
	child_kill(c->child);
	json_decref(c->args);
	loop_fd_free(c->watch);
	loop_timer_free(c->progress);
	close(c->fd);
	free(c->out.data);
	if (!c->acting)
		client_free(c);
}

static size_t client_room(const struct client *c)
{
	bool plan = c->peer.rights == PEER_OPERATE && (!strncmp(c->in, "{\"cmd\":\"admit\"", 14) ||
						       !strncmp(c->in, "{\"cmd\":\"whatif\"", 15));

	return plan ? LINE_MOST : LINE_SIZE;
}

static unsigned client_wants(const struct client *c)
{
	return (!c->eof && c->in_len < client_room(c) ? LOOP_READ : 0u) |
	       (bytes_held(&c->out) ? LOOP_WRITE : 0u);
}

static void client_watch(struct client *c)
{
	if (c->events == client_wants(c))
		return;
	c->events = client_wants(c);
	loop_fd_set(c->watch, c->events);
}

static void client_settle(struct client *c)
{
	/* Takes whole lines while no answer is on its way. */
	struct loop *loop = c->control->loop;
	char *newline;

	c->serving = true;
	while (!client_busy(c) && !c->broken && (newline = memchr(c->in, '\n', c->in_len))) {
		size_t len = newline - c->in;
		uint64_t began = loop_clock_us(loop), rest = listener_rest_us(loop);

		if (rest) {
			loop_timer_set(c->control->rest, rest);
			c->waits_us = c->waits_us ? c->waits_us : began;
			break;
		}
		c->waits_us = 0;
		client_request(c, c->in, len);
		listener_worked(loop, began);
		c->in_len -= len + 1;
		memmove(c->in, newline + 1, c->in_len);
	}
	c->serving = false;
	if (c->in_len == client_room(c) && !client_busy(c) && !c->waits_us) {
		client_reply(c, NULL, "invalid request: the line is too long");
		c->in_len = 0;
		c->eof = true; /* where the next request begins can't be known */
	}

	client_flush(c);
	if (c->answer == ANSWER_TEXT_DUE && !bytes_held(&c->out) && !c->broken) {
		c->answer = ANSWER_BEGUN;
		c->child = child_start(c->control->children, &text_ops, c, c->fd);
		c->broken = !c->child;
	}
	if (c->broken || (c->eof && !client_busy(c) && !c->waits_us && !bytes_held(&c->out))) {
		client_end(c);
		return;
	}
	client_watch(c);
	if (c->child)
		child_pause(c->child, bytes_held(&c->out) > OUT_HIGH);
}

static void rested_cb(void *arg)
{
	const struct control *control = arg;

	while (!listener_rest_us(control->loop)) { /* who waits longest */
		struct client *next = NULL;

		for (struct client *c = control->clients; c; c = c->next)
			if (c->waits_us && (!next || c->waits_us < next->waits_us))
				next = c;
		if (!next)
			return;
		client_settle(next);
	}
	loop_timer_set(control->rest, listener_rest_us(control->loop));
}

static void client_ready_cb(void *arg, unsigned events)
{
	struct client *c = arg;

	if (events & LOOP_READ) {
		ssize_t len =
			recv(c->fd, c->in + c->in_len, client_room(c) - c->in_len, MSG_DONTWAIT);

		if (len > 0) {
			c->in_len += len;
		} else if (len == 0) {
			c->eof = true;

			/*
			 * The peer has closed, not just its sending half: nobody is there to read
			 * an answer.
			 */
			struct pollfd poll_fd = { .fd = c->fd };

			c->broken = poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLHUP;
		} else if (errno != EAGAIN && errno != EINTR) {
			c->broken = true;
		}
	}
	client_settle(c);
}

static void refuse_client(int fd, const char *why)
{
	char *text = answer_line(NULL, why);

	if (send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		send(fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(text);
	close(fd);
}

static void accept_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct control *control = arg;
	struct peer peer = peer_of(&control->rules, fd);
	unsigned same_user = 0;

	if (fd < 0)
		return;
	for (const struct client *c = control->clients; c; c = c->next)
		same_user += !c->gone && c->peer.uid == peer.uid;
	listener_done(control->listener, fd, peer.rights != PEER_NONE);
	if (peer.rights == PEER_NONE)
		refuse_client(fd, "not permitted: only root and members of groups " PEER_READ_GROUP
				  " and " PEER_OPERATE_GROUP " may use fmd's socket");
	else if (control->nclients == CLIENTS_MAX || (peer.uid && same_user == USER_MAX))
		refuse_client(fd, "too many clients");
	else {
		struct client *c = mem_new(c);

		c->control = control;
		c->fd = fd;
		c->peer = peer;
		c->next = control->clients;
		control->clients = c;
		control->nclients++;
		c->events = LOOP_READ;
		c->watch = loop_fd_new(control->loop, fd, c->events, client_ready_cb, c);
	}
}

/* ---- Life ---- */

struct control *control_new(struct loop *loop, struct fabric *fabric, const char *socket_path,
			    control_reload_fn *reload, void *arg, char *err, size_t err_size)
{
	struct control *control = mem_new(control);

	control->loop = loop;
	control->env =
		(struct command_env){ .fabric = fabric, .reload = reload, .reload_arg = arg };
	/* Looks the groups up, which may ask a directory service: once, before the loop runs. */
	control->rules = (struct peer_rules){ geteuid(), group_id(PEER_READ_GROUP),
					      group_id(PEER_OPERATE_GROUP) };

	/*
	 * Where the groups exist, anybody may connect, and is known by credentials; else nobody but
	 * root and fmd's own user could have rights, and the file's mode says so too.
	 */
	int fd = listener_unix_socket(socket_path, peer_rules_share(&control->rules) ? 0111 : 0117,
				      CLIENTS_MAX);

	if (fd < 0) {
		snprintf(err, err_size, "socket %s: %s", socket_path,
			 fd == -EADDRINUSE ? "another fmd uses it"
			 : fd == -EEXIST   ? "a file with this name exists and is not a socket"
					   : strerror(-fd));
		free(control);
		return NULL;
	}
	control->fd = fd;
	control->path = mem_strdup(socket_path);
	control->children = children_new(loop);
	control->rest = loop_timer_new(loop, rested_cb, control);
	control->listener = listener_new(loop, fd, "control socket", 1, accept_cb, control);
	return control;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	for (struct client *c = control->clients, *next; c; c = next) {
		next = c->next;
		c->acting = false;
		if (c->gone)
			client_free(c);
		else
			client_end(c);
	}
	children_free(control->children);
	listener_free(control->listener);
	loop_timer_free(control->rest);
	close(control->fd);
	unlink(control->path);
	free(control->path);
	free(control);
}
