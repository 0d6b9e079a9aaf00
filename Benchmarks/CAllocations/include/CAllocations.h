#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stddef.h>

// Counts the allocations of this process, on all threads, between a start and a stop. One count at a time.
void CAllocations_start(void);
long CAllocations_stop(void);

// How many bytes the counted allocations asked for.
long CAllocations_bytes_counted(void);

// How many bytes of the heap are in use.
size_t CAllocations_bytes_in_use(void);

#endif
