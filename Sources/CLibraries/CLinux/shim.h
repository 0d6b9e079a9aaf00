#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <linux/memfd.h>
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/vfs.h>

// Swift reads the C library's headers without its extensions for GNU sources, and imports no variadic functions.

/// Makes a file in memory.
int memfd_create(const char *name, unsigned int flags);

/// The seals of such a file, by `fcntl`.
static const int CLinux_addSeals = 1033;
static const int CLinux_getSeals = 1034;
static const int CLinux_allSeals = 0x0001 | 0x0002 | 0x0004 | 0x0008;  // seal, shrink, grow, write

/// Keeps other processes of the user from this one's memory, environment and descriptors.
static inline int CLinux_forbidInspection(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/// Tells if a path leads to a file of the file system of processes.
static inline _Bool CLinux_isOfProcess(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

#endif
