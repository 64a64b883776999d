/*
 * A disk that fails when a test says so. Loaded with LD_PRELOAD, it stands between a process and the C
 * library, for the files whose path has the text of FAILING_FILE. The bytes of FAILING_SWITCH say what
 * happens to reads, writes, syncs and opens: 0 nothing, 255 zeros are read, 254 half of it is read, else
 * it is the error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { READS, WRITES, SYNCS, OPENS, KINDS };
static volatile unsigned char *state;
static const char *part;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAILING_SWITCH");
  part = getenv("FAILING_FILE");
  if (!path || !part) return;
  int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
  int file = real(path, O_RDONLY);
  if (file < 0) return;
  void *found = mmap(NULL, KINDS, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) state = found;
}

static int of_path(const char *path) { return path && strstr(path, part) != NULL; }

static int of_file(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return of_path(path);
}

static int fails(int kind, int file) { return state && state[kind] && of_file(file) ? state[kind] : 0; }

static ssize_t refuse(int error) {
  errno = error;
  return -1;
}

static ssize_t spoil(int kind, void *bytes, ssize_t count) {
  if (count <= 0) return count;
  if (kind == 254) return count / 2;
  memset(bytes, 0, count);
  return count;
}

#define READ(name, offset)                                                             \
  ssize_t name(int file, void *bytes, size_t count, offset at) {                       \
    static ssize_t (*real)(int, void *, size_t, offset);                               \
    if (!real) real = dlsym(RTLD_NEXT, #name);                                         \
    int kind = fails(READS, file);                                                     \
    if (kind && kind < 254) return refuse(kind);                                       \
    ssize_t found = real(file, bytes, count, at);                                      \
    return kind ? spoil(kind, bytes, found) : found;                                   \
  }
READ(pread, off_t)
READ(pread64, off64_t)

#define WRITE(name, offset)                                                            \
  ssize_t name(int file, const void *bytes, size_t count, offset at) {                 \
    static ssize_t (*real)(int, const void *, size_t, offset);                         \
    if (!real) real = dlsym(RTLD_NEXT, #name);                                         \
    int kind = fails(WRITES, file);                                                    \
    return kind ? refuse(kind) : real(file, bytes, count, at);                         \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

#define SYNC(name)                                                                     \
  int name(int file) {                                                                 \
    static int (*real)(int);                                                           \
    if (!real) real = dlsym(RTLD_NEXT, #name);                                         \
    int kind = fails(SYNCS, file);                                                     \
    return kind ? (int)refuse(kind) : real(file);                                      \
  }
SYNC(fsync)
SYNC(fdatasync)

#define OPEN(name)                                                                     \
  int name(const char *path, int flags, ...) {                                         \
    static int (*real)(const char *, int, ...);                                        \
    if (!real) real = dlsym(RTLD_NEXT, #name);                                         \
    va_list rest;                                                                      \
    va_start(rest, flags);                                                             \
    mode_t mode = va_arg(rest, mode_t);                                                \
    va_end(rest);                                                                      \
    if (state && state[OPENS] && of_path(path)) return (int)refuse(state[OPENS]);      \
    return real(path, flags, mode);                                                    \
  }
OPEN(open)
OPEN(open64)
