import Glibc

/// Lets this process open as many files and sockets as the system allows it to ask for.
///
/// The usual limit of 1 024 is too small for a server of a thousand clients. It is the process's, so a program sets it,
/// not a library.
package func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
