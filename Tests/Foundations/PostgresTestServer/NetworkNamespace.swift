import Foundation
import Glibc
import TestSupport

/// A network of a test's own, with nothing in it but a loopback interface.
///
/// It has no name, so that it can be taken for no other test's. It lasts as long as a process or a socket is in it, and the
/// process that keeps it ends with the tests, whatever ends these: nothing is ever left over.
package final class NetworkNamespace: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let keeper: ChildProcess
    /// The file that stands for it.
    package let path: String

    package init() async throws {
        // It reads its standard input, which ends with this process.
        let keeper = try ChildProcess("unshare", ["--net", "sh", "-c", "ip link set lo up && echo $$ && exec cat"])
        guard let identifier = await keeper.nextLine() else {
            throw Failure(description: await keeper.outcome().errors)
        }
        self.keeper = keeper
        self.path = "/proc/\(identifier)/ns/net"
    }

    /// The words before a command that is to run here.
    package var entry: [String] { ["nsenter", "--net=\(self.path)"] }

    /// Runs a program here, and returns what it writes.
    @discardableResult
    package func run(_ words: [String]) async throws -> [UInt8] {
        let all = self.entry + words
        let outcome = try await ChildProcess.run(all[0], Array(all.dropFirst()))
        guard outcome.exitCode == 0 else {
            throw Failure(description: "\(words.joined(separator: " ")): \(outcome.errors)")
        }
        return outcome.outputBytes
    }

    /// Calls `body` on a thread that is here: a socket that it makes stays here, whoever uses it. Blocks until it returns.
    package func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let result = Shared<Swift.Result<Result, any Error>?>(nil)
        let hasEnded = DispatchSemaphore(value: 0)
        // A namespace is a matter of each thread; this one is used for nothing else afterwards.
        Thread.detachNewThread { [path] in
            result.value = Swift.Result {
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                guard let setns = Self.setns, setns(file, Self.newNetwork) == 0 else {
                    throw Failure(description: "cannot enter \(path): \(String(cString: strerror(errno)))")
                }
                return try body()
            }
            hasEnded.signal()
        }
        hasEnded.wait()
        guard let result = result.value else { throw Failure(description: "a thread has not begun") }
        return try result.get()
    }

    /// glibc declares these for C programs that ask for GNU's extensions, which Swift's module of it does not.
    private static let setns = dlsym(nil, "setns").map {
        unsafeBitCast($0, to: (@convention(c) (Int32, Int32) -> Int32).self)
    }
    private static let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET
}
