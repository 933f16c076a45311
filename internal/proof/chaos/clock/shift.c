// Moves the wall clock of a program by the seconds that a file says, which may change while it runs. It is loaded before the
// C library, by LD_PRELOAD. The file has the name of the program and lies in the directory CLOCK_SHIFT; a program that
// has none when it starts goes by the right time. Monotonic clocks are left alone. Waits until a moment of the wall clock are
// moved back by what the thread was told last: the kernel has the right time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char path[4096];
static __thread long told; // how far the clock was off when this thread looked at it last

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
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += told = offset();
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

// right returns the moment that at stands for by the right time.
static const struct timespec *right(clockid_t clock, const struct timespec *at, struct timespec *moved) {
	if (!at || clock != CLOCK_REALTIME || !told) return at;
	*moved = *at;
	moved->tv_sec -= told;
	return moved;
}

// next returns the C library's own function. Of conditions it has an old one by the same name.
static void *next(const char *name) {
	void *f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return f ? f : dlsym(RTLD_NEXT, name);
}

#define WAITS(name, clock, what)                                                                   \
	int name(what *on, const struct timespec *at) {                                                \
		static int (*own)(what *, const struct timespec *);                                        \
		struct timespec moved;                                                                     \
		if (!own) own = next(#name);                                                               \
		return own(on, right(clock, at, &moved));                                                  \
	}

#define WAITS_BY(name, what)                                                                       \
	int name(what *on, clockid_t clock, const struct timespec *at) {                               \
		static int (*own)(what *, clockid_t, const struct timespec *);                             \
		struct timespec moved;                                                                     \
		if (!own) own = next(#name);                                                               \
		return own(on, clock, right(clock, at, &moved));                                           \
	}

WAITS(sem_timedwait, CLOCK_REALTIME, sem_t)
WAITS(pthread_mutex_timedlock, CLOCK_REALTIME, pthread_mutex_t)
WAITS(pthread_rwlock_timedrdlock, CLOCK_REALTIME, pthread_rwlock_t)
WAITS(pthread_rwlock_timedwrlock, CLOCK_REALTIME, pthread_rwlock_t)
WAITS_BY(sem_clockwait, sem_t)
WAITS_BY(pthread_mutex_clocklock, pthread_mutex_t)

int pthread_cond_timedwait(pthread_cond_t *on, pthread_mutex_t *lock, const struct timespec *at) {
	static int (*own)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	clockid_t clock = on->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME; // as glibc keeps it
	struct timespec moved;
	if (!own) own = next("pthread_cond_timedwait");
	return own(on, lock, right(clock, at, &moved));
}

int pthread_cond_clockwait(pthread_cond_t *on, pthread_mutex_t *lock, clockid_t clock, const struct timespec *at) {
	static int (*own)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
	struct timespec moved;
	if (!own) own = next("pthread_cond_clockwait");
	return own(on, lock, clock, right(clock, at, &moved));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *at, struct timespec *left) {
	static int (*own)(clockid_t, int, const struct timespec *, struct timespec *);
	struct timespec moved;
	if (!own) own = next("clock_nanosleep");
	return own(clock, flags, flags & TIMER_ABSTIME ? right(clock, at, &moved) : at, left);
}
