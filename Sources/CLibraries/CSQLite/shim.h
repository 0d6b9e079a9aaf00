#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

// Swift imports neither casts hidden in macros nor variadic functions.

/// Tells `sqlite3_bind_*` to take its own copy of the bytes.
static inline sqlite3_destructor_type CSQLite_TRANSIENT(void) { return SQLITE_TRANSIENT; }

/// Refuses SQL that could damage the file itself, such as writes to the schema table.
static inline int CSQLite_setDefensive(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

#endif
