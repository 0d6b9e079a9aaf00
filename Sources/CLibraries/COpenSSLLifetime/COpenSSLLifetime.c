#include "COpenSSLLifetime.h"
#include <openssl/crypto.h>

// libcrypto frees its state when the process calls `exit` or returns from `main`, even while other threads compute with it: the
// process that had done its work dies of a bad pointer. Only the first use of libcrypto in a process can tell it not to, and
// that may be curl's or libpq's. So this runs before `main`, not at the first use here.
__attribute__((constructor)) void COpenSSLLifetime_keep(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
