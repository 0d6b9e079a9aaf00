#ifndef CPOSTGRESQL_SHIM_H
#define CPOSTGRESQL_SHIM_H

#include <libpq-fe.h>

// To wake a thread that waits for a connection. Swift's Glibc module leaves this header out.
#include <sys/eventfd.h>

// Swift imports no macro with a cast in it.

/// SQLSTATE, of which libpq keeps the field code as a character constant.
static inline const char *CPostgreSQL_sqlState(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

#endif
