package import Glibc

/// The attributes with which a test starts a program: every signal as a shell would leave it, whatever the starting thread blocks
/// or this process ignores.
package struct SpawnAttributes: ~Copyable {
    package var raw = posix_spawnattr_t()

    /// - Parameter leadsGroup: `true` if the program leads a group of its own, to be ended with all that it starts.
    package init(leadsGroup: Bool = false) {
        posix_spawnattr_init(&self.raw)
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&self.raw, &none)
        posix_spawnattr_setsigdefault(&self.raw, &all)
        var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        if leadsGroup {
            posix_spawnattr_setpgroup(&self.raw, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        posix_spawnattr_setflags(&self.raw, Int16(flags))
    }

    deinit {
        var raw = self.raw
        posix_spawnattr_destroy(&raw)
    }
}
