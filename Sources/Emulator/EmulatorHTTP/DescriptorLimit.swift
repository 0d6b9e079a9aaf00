import Glibc

/// Raises this process's limit of open files and sockets to the allowed maximum.
///
/// The usual limit of 1 024 is too small for a thousand clients. It is process-wide, so a program sets it, not a library.
package func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
