/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_lock: the file "lock" in state_dir. */
#include "fm/state/state_lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "topology/base/mem.h"

/*
 * Returns the descriptor, or -1 with the reason said; -EROFS: nobody can write there. Such a fabric
 * is managed by the state as it is, and each file that can't be written is an alert.
 */
static int open_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (errno == EROFS) {
		log_line(LOG_CORE, LOG_ERR, "%s: %s: state is read and not kept", path,
			 strerror(errno));
		return -EROFS;
	}
	log_line(LOG_CORE, LOG_ERR, "%s: %s%s", path, strerror(errno),
		 errno == EACCES ? ": state_dir and all in it are to be of the user fmd runs as "
				   "(chown -R)"
				 : "");
	return -1;
}

int state_lock(const char *state_dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = mem_printf("%s/lock", state_dir);
	int fd = open_lock(path), status = -1;

	if (fd < 0) {
		status = fd == -EROFS ? 0 : -1;
	} else if (!fcntl(fd, F_SETLK, &lock)) {
		status = 0; /* the descriptor stays open, and with it the lock */
	} else {
		lock.l_pid = 0;
		fcntl(fd, F_GETLK, &lock);
		log_line(LOG_CORE, LOG_ERR, "%s: another fmd (process %d) uses this state_dir",
			 path, (int)lock.l_pid);
		close(fd);
	}
	free(path);
	return status;
}
