/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who may look and who may act at the control socket, by what the kernel says of the other end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fm/control/peer.h"

enum { SELF = 900, STRANGER = 1000, LOOK = 50, ACT = 60, OTHER = 70 };
static const struct peer_rules rules = { .self = SELF, .readers = LOOK, .operators = ACT };

static void root_and_fmds_own_user_may_act(void **state)
{
	const gid_t groups[] = { OTHER };

	assert_int_equal(peer_judge(&rules, 0, groups, 1), PEER_OPERATE);
	assert_int_equal(peer_judge(&rules, SELF, groups, 1), PEER_OPERATE);
}

static void a_group_gives_its_rights_wherever_it_stands_in_the_list(void **state)
{
	const gid_t readers[] = { OTHER, 71, LOOK }, operators[] = { ACT, LOOK },
		    none[] = { OTHER, 71 };

	assert_int_equal(peer_judge(&rules, STRANGER, readers, 3), PEER_READ);
	assert_int_equal(peer_judge(&rules, STRANGER, operators, 2), PEER_OPERATE);
	assert_int_equal(peer_judge(&rules, STRANGER, none, 2), PEER_NONE);
}

static void a_group_that_does_not_exist_has_no_members(void **state)
{
	const struct peer_rules none = { .self = SELF,
					 .readers = (gid_t)-1,
					 .operators = (gid_t)-1 };
	const gid_t groups[] = { (gid_t)-1 };

	assert_int_equal(peer_judge(&none, STRANGER, groups, 1), PEER_NONE);
	assert_false(peer_rules_share(&none));
	assert_true(peer_rules_share(&rules));
}

static void the_kernel_is_asked_who_is_at_the_other_end(void **state)
{
	struct peer_rules mine = { .self = geteuid(),
				   .readers = (gid_t)-1,
				   .operators = (gid_t)-1 };
	struct peer peer;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	peer = peer_of(&mine, fds[0]);
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(peer.rights, PEER_OPERATE);
	close(fds[1]);
	close(fds[0]);
	assert_int_equal(peer_of(&mine, fds[0]).rights, PEER_NONE); /* no socket */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_fmds_own_user_may_act),
		cmocka_unit_test(a_group_gives_its_rights_wherever_it_stands_in_the_list),
		cmocka_unit_test(a_group_that_does_not_exist_has_no_members),
		cmocka_unit_test(the_kernel_is_asked_who_is_at_the_other_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
