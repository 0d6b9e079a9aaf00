#ifndef CSTATUSHTTP_SHIM_H
#define CSTATUSHTTP_SHIM_H

#include <microhttpd.h>

// Swift cannot call functions with variable arguments; these call them for it.

static inline struct MHD_Daemon *CStatusHTTP_start(
    const struct sockaddr *address,
    unsigned int connection_limit,
    size_t connection_memory_limit,
    unsigned int timeout_seconds,
    MHD_AccessHandlerCallback handle,
    void *context
) {
    // The library's own default lets a restart take the port at once, and no two processes have it at the same time.
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | (address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    return MHD_start_daemon(
        flags, 0, (MHD_AcceptPolicyCallback)0, (void *)0, handle, context,
        MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds,
        MHD_OPTION_END);
}

/// The port that the daemon listens on; 0 when it cannot be told.
static inline uint16_t CStatusHTTP_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

#endif
