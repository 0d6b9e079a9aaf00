#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

// Counts the allocations of this process, on all threads, between a start and a stop. One count at a time.
void CAllocations_start(void);
long CAllocations_stop(void);

#endif
