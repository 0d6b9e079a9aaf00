import CommandLineSupport
import ExactJSON
import Foundation
import Glibc
import HTTPClientTransport
import MobileToken

/// Passes each change of the list to a command or a URL, one at a time. A failure is reported on standard error and not retried,
/// because every change contains the whole list.
struct ChangeForwarding: Sendable {
    /// The command for `/bin/sh`, with the change on its standard input.
    private let command: String?
    private let target: (url: String, transport: CurlTransport)?

    static let options = [
        Command.Option("exec", "COMMAND", "run this in a shell for each change, which is its standard input, as JSON"),
        Command.Option("forward-to", "URL", "send each change to this URL, as JSON"),
    ]

    /// - Throws: `UsageError` if the URL is plain http to another machine without permission.
    init(_ invocation: Invocation) throws {
        self.command = invocation["exec"]
        self.target = try invocation.forwardingURL("forward-to").map { url in
            (url, try CurlTransport())
        }
    }

    func forward(_ change: OperationList.Change) async {
        let document = change.document.serialized() + [UInt8(ascii: "\n")]
        if let command {
            do {
                let status = try await ChildProcess.run(["/bin/sh", "-c", command], input: try Self.file(of: document))
                if status != .done, !Task.isCancelled {
                    Output.note("mobile-token: the command ended with exit status \(status.rawValue)")
                }
            } catch {
                Output.note("mobile-token: cannot run the command: \(TextTable.printable("\(error)"))")
            }
        }
        guard let target else { return }
        do {
            let request = HTTPRequest(
                url: target.url,
                headers: ["Content-Type": "application/json"],
                body: document
            )
            let response = try await target.transport.send(request)
            guard !(200..<300).contains(response.status) else { return }
            Output.note("mobile-token: \(TextTable.printable(target.url)) answered with HTTP \(response.status)")
        } catch {
            Output.note("mobile-token: not forwarded: \(TextTable.printable("\(error)"))")
        }
    }

    /// Creates an unnamed private file. A pipe would end this process if the command reads nothing.
    private static func file(of bytes: [UInt8]) throws -> FileHandle {
        var path = Array(FileManager.default.temporaryDirectory.appending(path: "change-XXXXXX").path.utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        unlink(path)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(bytes))
        try file.seek(toOffset: 0)
        return file
    }
}
