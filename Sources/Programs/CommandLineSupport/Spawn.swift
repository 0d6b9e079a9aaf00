import Foundation
package import Glibc

/// Starts programs with default signal handling, as a shell does.
///
/// With Foundation's `Process` a program would inherit the calling thread's signal mask and this program's ignored signals, and
/// could be neither interrupted nor terminated.
package enum Spawn {
    /// The reason a program did not start.
    package struct Failure: Error {
        package let number: CInt

        package var description: String { String(cString: strerror(self.number)) }
    }

    /// Returns this process's environment for a program, each variable as `NAME=value`, byte for byte: Foundation replaces
    /// invalid UTF-8.
    ///
    /// - Parameters:
    ///   - removed: Variables to remove.
    ///   - added: Variables to add or replace.
    package static func environment(
        removing removed: Set<String> = [],
        adding added: [String: String] = [:]
    ) -> [[CChar]] {
        let names = ProcessInfo.processInfo.environment.keys.filter { !removed.contains($0) && added[$0] == nil }
        let inherited = names.compactMap { name in
            getenv(name).map { value in Array("\(name)=".utf8CString.dropLast()) + (0...strlen(value)).map { value[$0] }
            }
        }
        return inherited + added.map { Array("\($0.key)=\($0.value)".utf8CString) }
    }

    /// Starts a program without a shell.
    ///
    /// - Parameters:
    ///   - words: The program, searched in `PATH`, and its arguments.
    ///   - environment: The program's whole environment, as returned by ``environment(removing:adding:)``.
    ///   - descriptors: Pairs of a descriptor of this process and its number in the program.
    ///   - leadsGroup: `true` to create a process group, which can be ended with all children.
    package static func start(
        _ words: [String],
        environment: [[CChar]],
        descriptors: [(own: CInt, its: CInt)] = [],
        leadsGroup: Bool = false
    ) throws(Failure) -> pid_t {
        guard let program = words.first else { throw Failure(number: ENOENT) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (own, its) in descriptors { posix_spawn_file_actions_adddup2(&actions, own, its) }

        var identifier: pid_t = 0
        let number = self.withPointers(words.map { Array($0.utf8CString) }) { words in
            self.withPointers(environment) { environment in
                posix_spawnp(&identifier, program, &actions, &attributes, words, environment)
            }
        }
        guard number == 0 else { throw Failure(number: number) }
        return identifier
    }

    /// Returns the exit status in a result of `waitpid`: 128 plus the number of a fatal signal, as in shells.
    package static func exitStatus(_ status: CInt) -> CInt {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    /// Passes strings to `body` as a null-terminated array of C strings.
    private static func withPointers<Result>(
        _ strings: [[CChar]],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
