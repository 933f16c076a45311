// Moves the wall clock of a program by the seconds that a file says, which may change while it runs. It is loaded before the
// C library, by LD_PRELOAD. The file has the name of the program and lies in the directory CLOCK_SHIFT; a program that
// has none when it starts goes by the right time. Monotonic clocks are left alone.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char path[4096];

__attribute__((constructor)) static void find(void) {
	const char *dir = getenv("CLOCK_SHIFT");
	if (!dir) return;
	snprintf(path, sizeof path, "%s/%s", dir, program_invocation_short_name);
	if (access(path, R_OK)) path[0] = 0;
}

static long offset(void) {
	char text[32];
	if (!path[0]) return 0;
	int before = errno;
	int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
	if (fd >= 0) syscall(SYS_close, fd);
	errno = before;
	if (n <= 0) return 0;
	text[n] = 0;
	return strtol(text, 0, 10);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int failed = syscall(SYS_clock_gettime, clock, t);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += offset();
	return failed;
}

int gettimeofday(struct timeval *t, void *zone) {
	(void)zone;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
