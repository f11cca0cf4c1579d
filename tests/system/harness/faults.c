/* Preloaded into a daemon: answers chosen calls falsely while a test says so. What it is to do stands in a file that all
   processes of a program share (POSTRIDER_FAULTS/<program>), as in harness/faults.py: struct control. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <pthread.h>
#include <unistd.h>

enum { OPEN, READ, WRITE, SYNC, RENAME, UNLINK, STAT, LIST, TRUNCATE, LOCK, MKDIR, ACCEPT, SOCKET, CONNECT, DESCRIPTOR,
       MMAP, SEND, RECEIVE, THREAD, FORK, KINDS };

struct control {
    int kind;  /* -1: nothing fails */
    int error; /* 0: the call waits until it is to wait no more, and goes well */
    int skip;  /* so many go well first */
    int count; /* then so many fail */
    int calls[KINDS], failed[KINDS];
};

static struct control* control;

__attribute__((constructor)) static void begin(void) {
    const char* place = getenv("POSTRIDER_FAULTS");
    char path[4096];
    if (!place) return;
    snprintf(path, sizeof path, "%s/%s", place, program_invocation_short_name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void* there = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (there != MAP_FAILED) control = there;
}

static int fails(int kind) {
    struct control* c = control;
    if (!c) return 0;
    __atomic_add_fetch(&c->calls[kind], 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) != kind) return 0;
    if (__atomic_fetch_sub(&c->skip, 1, __ATOMIC_RELAXED) > 0) return 0;
    if (__atomic_fetch_sub(&c->count, 1, __ATOMIC_RELAXED) <= 0) return 0;
    __atomic_add_fetch(&c->failed[kind], 1, __ATOMIC_RELAXED);
    int error = __atomic_load_n(&c->error, __ATOMIC_RELAXED);
    if (error == 0) {
        while (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == kind) usleep(1000);
        return 0;
    }
    errno = error;
    return 1;
}

static int regular(int fd) {
    struct stat st;
    return control && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode);
}

#define REAL(name) static __typeof__(name)* real; if (!real) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char* path, int flags, ...) { MODE REAL(open); return fails(OPEN) ? -1 : real(path, flags, mode); }
int open64(const char* path, int flags, ...) { MODE REAL(open64); return fails(OPEN) ? -1 : real(path, flags, mode); }
int openat(int at, const char* path, int flags, ...) { MODE REAL(openat); return fails(OPEN) ? -1 : real(at, path, flags, mode); }
int openat64(int at, const char* path, int flags, ...) { MODE REAL(openat64); return fails(OPEN) ? -1 : real(at, path, flags, mode); }

#define CALL(kind, type, name, parameters, arguments, condition) \
    type name parameters { REAL(name); return condition && fails(kind) ? (type)-1 : real arguments; }

CALL(READ, ssize_t, read, (int fd, void* to, size_t n), (fd, to, n), regular(fd))
CALL(READ, ssize_t, pread, (int fd, void* to, size_t n, off_t at), (fd, to, n, at), regular(fd))
CALL(READ, ssize_t, pread64, (int fd, void* to, size_t n, off64_t at), (fd, to, n, at), regular(fd))
CALL(WRITE, ssize_t, write, (int fd, const void* of, size_t n), (fd, of, n), regular(fd))
CALL(WRITE, ssize_t, pwrite, (int fd, const void* of, size_t n, off_t at), (fd, of, n, at), regular(fd))
CALL(WRITE, ssize_t, pwrite64, (int fd, const void* of, size_t n, off64_t at), (fd, of, n, at), regular(fd))
CALL(WRITE, ssize_t, writev, (int fd, const struct iovec* v, int n), (fd, v, n), regular(fd))
CALL(WRITE, ssize_t, pwritev, (int fd, const struct iovec* v, int n, off_t at), (fd, v, n, at), regular(fd))
CALL(WRITE, ssize_t, pwritev64, (int fd, const struct iovec* v, int n, off64_t at), (fd, v, n, at), regular(fd))
CALL(SYNC, int, fsync, (int fd), (fd), 1)
CALL(SYNC, int, fdatasync, (int fd), (fd), 1)
CALL(SYNC, int, msync, (void* at, size_t n, int how), (at, n, how), 1)
CALL(RENAME, int, rename, (const char* from, const char* to), (from, to), 1)
CALL(RENAME, int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to), 1)
CALL(UNLINK, int, unlink, (const char* path), (path), 1)
CALL(UNLINK, int, unlinkat, (int at, const char* path, int how), (at, path, how), 1)
CALL(STAT, int, fstatvfs, (int fd, struct statvfs* to), (fd, to), 1)
CALL(STAT, int, fstatvfs64, (int fd, struct statvfs64* to), (fd, to), 1)
CALL(STAT, int, fstat, (int fd, struct stat* to), (fd, to), 1)
CALL(STAT, int, stat, (const char* path, struct stat* to), (path, to), 1)
CALL(TRUNCATE, int, ftruncate, (int fd, off_t n), (fd, n), 1)
CALL(TRUNCATE, int, ftruncate64, (int fd, off64_t n), (fd, n), 1)
CALL(TRUNCATE, int, fallocate, (int fd, int how, off_t at, off_t n), (fd, how, at, n), 1)
CALL(TRUNCATE, int, fallocate64, (int fd, int how, off64_t at, off64_t n), (fd, how, at, n), 1)
CALL(LOCK, int, flock, (int fd, int how), (fd, how), 1)
CALL(MKDIR, int, mkdir, (const char* path, mode_t mode), (path, mode), 1)
CALL(MKDIR, int, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode), 1)
CALL(ACCEPT, int, accept, (int fd, struct sockaddr* a, socklen_t* n), (fd, a, n), 1)
CALL(ACCEPT, int, accept4, (int fd, struct sockaddr* a, socklen_t* n, int how), (fd, a, n, how), 1)
CALL(SOCKET, int, socket, (int a, int b, int c), (a, b, c), 1)
CALL(SOCKET, int, socketpair, (int a, int b, int c, int to[2]), (a, b, c, to), 1)
CALL(CONNECT, int, connect, (int fd, const struct sockaddr* a, socklen_t n), (fd, a, n), 1)
CALL(DESCRIPTOR, int, pipe2, (int to[2], int how), (to, how), 1)
CALL(DESCRIPTOR, int, eventfd, (unsigned n, int how), (n, how), 1)
CALL(DESCRIPTOR, int, inotify_init1, (int how), (how), 1)
CALL(DESCRIPTOR, int, memfd_create, (const char* name, unsigned how), (name, how), 1)
CALL(DESCRIPTOR, int, dup, (int fd), (fd), 1)
CALL(SEND, ssize_t, send, (int fd, const void* of, size_t n, int how), (fd, of, n, how), 1)
CALL(SEND, ssize_t, sendmsg, (int fd, const struct msghdr* of, int how), (fd, of, how), 1)
CALL(RECEIVE, ssize_t, recv, (int fd, void* to, size_t n, int how), (fd, to, n, how), 1)
CALL(RECEIVE, ssize_t, recvmsg, (int fd, struct msghdr* to, int how), (fd, to, how), 1)
CALL(FORK, pid_t, fork, (void), (), 1)

DIR* fdopendir(int fd) { REAL(fdopendir); return fails(LIST) ? NULL : real(fd); }
DIR* opendir(const char* path) { REAL(opendir); return fails(LIST) ? NULL : real(path); }
struct dirent* readdir(DIR* of) { REAL(readdir); return fails(LIST) ? NULL : real(of); }
void* mmap(void* at, size_t n, int how, int flags, int fd, off_t from) {
    REAL(mmap);
    return fails(MMAP) ? MAP_FAILED : real(at, n, how, flags, fd, from);
}
void* mmap64(void* at, size_t n, int how, int flags, int fd, off64_t from) {
    REAL(mmap64);
    return fails(MMAP) ? MAP_FAILED : real(at, n, how, flags, fd, from);
}
int pthread_create(pthread_t* to, const pthread_attr_t* how, void* (*what)(void*), void* with) {
    REAL(pthread_create);
    return fails(THREAD) ? control->error : real(to, how, what, with);
}
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* how,
                char* const arguments[], char* const environment[]) {
    REAL(posix_spawn);
    return fails(FORK) ? control->error : real(pid, path, actions, how, arguments, environment);
}
