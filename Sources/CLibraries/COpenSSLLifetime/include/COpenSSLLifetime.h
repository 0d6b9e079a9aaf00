#ifndef COPENSSLLIFETIME_H
#define COPENSSLLIFETIME_H

// Keeps libcrypto whole until the process has ended. Runs by itself, when the program is loaded.
void COpenSSLLifetime_keep(void);

#endif
