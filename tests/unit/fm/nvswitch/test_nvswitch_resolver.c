/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who may send kernel logs where nothing is configured: whose address the resolver gives a host of
 * ours. The resolver, and where datagrams are from, is the test's: the functions below stand in for
 * libc's, since the program's own definitions go first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fm/nvswitch/state_monitor.h"
#include "topology/base/mem.h"

#define LOOK_US	 1000
#define PATIENCE 60000
#define HOST	 "dgx-01"
#define SENDER	 "10.9.0.2" /* an address that no machine of ours has */
#define FAULT                                                                                      \
	"kernel: nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
#define NOISE "kernel: usb 1-1: new high-speed USB device number 7 using xhci_hcd"

/* ---- libc's ---------------------------------------------------------------------------------- */

static struct {
	struct gaicb *asked; /* under way */
	char name[256];	     /* asked for last */
	unsigned times;
	int status; /* EAI_INPROGRESS: no answer yet */
	bool stuck; /* can't be called off */
} r;

int getaddrinfo_a(int mode, struct gaicb *list[], int count, struct sigevent *sev)
{
	assert_int_equal(mode, GAI_NOWAIT);
	assert_int_equal(count, 1);
	r.asked = list[0];
	snprintf(r.name, sizeof(r.name), "%s", list[0]->ar_name);
	r.times++;
	return 0;
}

int gai_error(struct gaicb *ask)
{
	assert_ptr_equal(ask, r.asked);
	return r.status;
}

int gai_cancel(struct gaicb *ask)
{
	return r.stuck ? EAI_NOTCANCELED : EAI_CANCELED;
}

/* In one piece, as the real freeaddrinfo() takes it. */
static struct addrinfo *result(const char *address, struct addrinfo *next)
{
	struct {
		struct addrinfo info;
		struct sockaddr_in at;
	} *made = mem_alloc(1, sizeof(*made));

	made->at.sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, address, &made->at.sin_addr), 1);
	made->info = (struct addrinfo){ .ai_family = AF_INET,
					.ai_addr = (struct sockaddr *)&made->at,
					.ai_addrlen = sizeof(made->at),
					.ai_next = next };
	return &made->info;
}

int recvmmsg(int fd, struct mmsghdr *headers, unsigned count, int flags, struct timespec *timeout)
{
	int taken = (int)syscall(SYS_recvmmsg, fd, headers, count, flags, timeout);

	for (int i = 0; i < taken; i++) {
		struct sockaddr_in *from = headers[i].msg_hdr.msg_name;

		assert_int_equal(inet_pton(AF_INET, SENDER, &from->sin_addr), 1);
	}
	return taken;
}

/* ---- The monitor, and who speaks to it ------------------------------------------------------- */

struct fixture {
	char listen[64];
	struct loop *loop;
	struct loop_timer *look;
	struct nvswitch *nv;
	unsigned told, looks; /* events about senders */
	char text[256];
	const char *key; /* of what is counted for a sender.. */
	json_int_t want; /* ..and how much of it is waited for */
	bool met;
};

static void event_cb(void *arg, enum log_level level, const char *kind, json_t *details,
		     const char *text)
{
	struct fixture *f = arg;

	if (!strcmp(kind, "nvswitch-sender")) {
		f->told++;
		snprintf(f->text, sizeof(f->text), "%s", text);
		assert_string_equal(json_string_value(json_object_get(details, "sender")), SENDER);
	}
	json_decref(details);
}

static void nothing_cb(void *arg)
{
}

static void trouble_cb(void *arg, const char *what, const char *error)
{
	assert_null(error);
}

static json_int_t counted(const struct fixture *f, const char *key)
{
	json_t *all = nvswitch_json(f->nv), *row;
	json_int_t count = 0;
	size_t i;

	json_array_foreach (json_object_get(all, "senders"), i, row)
		if (!strcmp(json_string_value(json_object_get(row, "sender")), SENDER))
			count = json_integer_value(json_object_get(row, key));
	json_decref(all);
	return count;
}

static void look_cb(void *arg)
{
	struct fixture *f = arg;

	f->met = !f->key ? r.asked != NULL : counted(f, f->key) >= f->want;
	if (f->met || ++f->looks == PATIENCE)
		loop_stop(f->loop);
	else
		loop_timer_set(f->look, LOOK_US);
}

/* Key NULL: until the resolver is asked. */
static void run_until(struct fixture *f, const char *key, json_int_t want)
{
	f->key = key;
	f->want = want;
	f->looks = 0;
	loop_timer_set(f->look, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_true(f->met);
}

static void say(const struct fixture *f, const char *host, const char *text)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(5514) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char address[64], line[512];
	int len = snprintf(line, sizeof(line), "<3>Nov 21 01:02:03 %s %s", host, text);

	snprintf(address, sizeof(address), "%s", f->listen);
	*strchr(address, ':') = '\0';
	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	assert_int_equal(sendto(fd, line, (size_t)len, 0, (struct sockaddr *)&at, sizeof(at)), len);
	close(fd);
}

static int set_up(void **state)
{
	static const struct nvswitch_ops ops = { event_cb,   nothing_cb, nothing_cb,
						 nothing_cb, trouble_cb, NULL };
	static const char *const present[] = { HOST, "dgx-02" };
	struct fixture *f = mem_alloc(1, sizeof(*f));
	struct nvswitch_conf conf = { .interval_us = 3600 * 1000000ull,
				      .timeout_ms = 1000,
				      .hook_timeout_ms = 1000,
				      .body_max = 1 << 16,
				      .health = { .guard_percent = 100 } };
	unsigned pid = (unsigned)getpid();
	char err[256];

	memset(&r, 0, sizeof(r));
	r.status = EAI_INPROGRESS;
	log_set_level(-1, LOG_ERR);
	snprintf(f->listen, sizeof(f->listen), "127.78.%u.%u:5514", pid >> 8 & 0xff,
		 pid & 0xff ? pid & 0xff : 1);
	strcpy(conf.keys.syslog_listen, f->listen);
	f->loop = loop_new();
	f->look = loop_timer_new(f->loop, look_cb, f);
	f->nv = nvswitch_new(f->loop, &ops, f);
	assert_int_equal(nvswitch_configure(f->nv, &conf, err, sizeof(err)), 0);
	nvswitch_present(f->nv, present, 2);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	nvswitch_free(f->nv);
	loop_timer_free(f->look);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void answer(struct addrinfo *list, int status)
{
	r.asked->ar_result = list;
	r.status = status;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void a_sender_with_an_address_of_the_host_it_names_is_trusted(void **state)
{
	struct fixture *f = *state;

	say(f, HOST, FAULT);
	run_until(f, NULL, 0);
	assert_string_equal(r.name, HOST);
	assert_int_equal(counted(f, "understood") + counted(f, "refused"), 0); /* it waits */
	answer(result("10.9.0.1", result(SENDER, NULL)), 0);
	run_until(f, "understood", 1);
	say(f, HOST, FAULT);
	say(f, HOST, NOISE);
	run_until(f, "ignored", 1);
	assert_int_equal(counted(f, "understood"), 2);
	assert_int_equal(counted(f, "refused"), 0);
	assert_int_equal(r.times, 1); /* remembered */
	assert_int_equal(f->told, 0);
}

static void a_sender_with_another_address_is_counted_and_reported_once(void **state)
{
	struct fixture *f = *state;

	say(f, HOST, FAULT);
	run_until(f, NULL, 0);
	answer(result("10.9.0.1", NULL), 0);
	run_until(f, "refused", 1);
	for (unsigned i = 0; i < 5; i++)
		say(f, "dgx-02", FAULT);
	run_until(f, "refused", 6);
	assert_int_equal(counted(f, "understood"), 0);
	assert_int_equal(r.times, 1); /* a flood of lines is none of questions */
	assert_int_equal(f->told, 1);
	assert_non_null(strstr(f->text, "syslog_allow"));
	assert_int_equal(nvswitch_believed(f->nv, HOST), NVSWITCH_HEALTHY);
}

static void a_name_that_does_not_resolve_vouches_for_nobody(void **state)
{
	struct fixture *f = *state;

	say(f, HOST, FAULT);
	run_until(f, NULL, 0);
	answer(NULL, EAI_NONAME);
	run_until(f, "refused", 1);
	assert_int_equal(counted(f, "understood"), 0);
	assert_int_equal(f->told, 1);
}

static void nobody_is_asked_about_a_host_that_is_not_ours(void **state)
{
	struct fixture *f = *state;

	say(f, "evil.example", FAULT);
	run_until(f, "refused", 1);
	assert_int_equal(r.times, 0);
	assert_int_equal(f->told, 1);
}

/* Four lines wait, and no more: a resolver that does not answer must not cost memory. */
static void lines_that_wait_are_few(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 10; i++)
		say(f, HOST, FAULT);
	run_until(f, "refused", 6);
	assert_int_equal(r.times, 1);
	answer(result(SENDER, NULL), 0);
	run_until(f, "understood", 4);
	assert_int_equal(counted(f, "refused"), 6);
}

static void the_monitor_ends_while_the_resolver_works(void **state)
{
	struct fixture *f = *state;

	say(f, HOST, FAULT);
	run_until(f, NULL, 0);
	answer(result(SENDER, NULL), 0); /* too late to be looked at */
}

static void the_monitor_leaves_a_question_that_cannot_be_called_off(void **state)
{
	struct fixture *f = *state;

	r.stuck = true;
	say(f, HOST, FAULT);
	run_until(f, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_sender_with_an_address_of_the_host_it_names_is_trusted, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_sender_with_another_address_is_counted_and_reported_once, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_name_that_does_not_resolve_vouches_for_nobody,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_is_asked_about_a_host_that_is_not_ours,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_that_wait_are_few, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_monitor_ends_while_the_resolver_works, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			the_monitor_leaves_a_question_that_cannot_be_called_off, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
