import Foundation
import Glibc

/// The program `simulate`.
package enum SimulateCommand {
    /// - Returns: The status with which the program ends.
    package static func run(_ arguments: [String]) -> Int32 {
        self.makeHashingDeterministic(arguments)
        if arguments.dropFirst() == ["--proof"] {
            var proof = Proof()
            proof.run()
            return proof.hasFailed ? 1 : 0
        }
        print("simulate --proof")
        return 64
    }

    /// Starts the program anew where the order of a dictionary would come from its address.
    private static func makeHashingDeterministic(_ arguments: [String]) {
        let name = "SWIFT_DETERMINISTIC_HASHING"
        guard ProcessInfo.processInfo.environment[name] == nil else { return }
        setenv(name, "1", 1)
        var copies = arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", &copies)
        fatalError("The program cannot start itself: \(String(cString: strerror(errno)))")
    }
}
