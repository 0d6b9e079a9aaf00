#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <microhttpd.h>

// Swift cannot call functions with variable arguments; these call them for it.

static inline struct MHD_Daemon *CMicroHTTPD_start_daemon(
    int listen_socket,
    unsigned int connection_limit,
    size_t connection_memory_limit,
    unsigned int idle_timeout_seconds,
    const char *private_key,  // PEM; NULL for plain HTTP
    const char *certificate,
    void *context,
    MHD_AccessHandlerCallback handle_request,
    void *(*receive_request_line)(void *context, const char *uri, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback complete_request,
    MHD_NotifyConnectionCallback notify_connection
) {
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)private_key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_END, 0, (void *)0},
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (private_key ? MHD_USE_TLS : 0), 0,
        (MHD_AcceptPolicyCallback)0, (void *)0,
        handle_request, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_timeout_seconds,
        MHD_OPTION_URI_LOG_CALLBACK, receive_request_line, context,
        MHD_OPTION_NOTIFY_COMPLETED, complete_request, context,
        MHD_OPTION_NOTIFY_CONNECTION, notify_connection, context,
        MHD_OPTION_ARRAY, private_key ? tls : tls + 2,
        MHD_OPTION_END);
}

static inline int CMicroHTTPD_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// The bytes of the request's head; 0 before it is whole.
static inline size_t CMicroHTTPD_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

static inline void *CMicroHTTPD_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : (void *)0;
}

#endif
