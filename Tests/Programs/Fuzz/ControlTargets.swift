import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation

@testable import EmulatorBackend
@testable import EmulatorHTTP
@testable import MobileTokenEmulator

/// The inputs that people and scripts write for the development server.
let controlTargets = [
    FuzzTarget("scenario") { input in
        let lines = 1...(1 + input.count { $0 == UInt8(ascii: "\n") })
        do {
            let scenario = try Scenario(parsing: input)
            let trial = Trial(
                EmulatorCore.MutableState(
                    backend: FuzzServer.backend,
                    time: VirtualTime(),
                    faults: FaultInjector(),
                    room: 2,
                    isFull: EmulatorError(.capacityExceeded, "There is no room")
                )
            )
            let made = try FuzzServer.waiting {
                try await scenario.apply(to: trial, FuzzServer.configuration, ContinuousClock())
            }
            hold((made.object?.keys ?? []).count == 6, "something made is not told")
            let document = try trial.content.state.backend.exported()
            let again = try Backend(importing: document, configuration: FuzzServer.configuration.backend)
            hold(try again.exported() == document, "exported and imported, it is another state")
        } catch let refusal as Refusal {
            hold(line(in: refusal.message).map(lines.contains) ?? false, "no line of it: \(refusal.message)")
        }
    },
    // A line of parameters, then a template: an operation is made of both, and shown in each language.
    FuzzTarget("template-operation") { input in
        var reader = InputReader(input)
        let parameters = (try? JSONValue(parsing: reader.line())) ?? [:]
        let document = Array(reader.rest)
        let template: OperationTemplate
        do throws(DocumentMistake) { template = try OperationTemplate(parsing: document) } catch {
            let lines = 1...(1 + document.count { $0 == UInt8(ascii: "\n") })
            return hold(line(in: error.message).map(lines.contains) ?? false, "no line of it: \(error.message)")
        }
        let again = try? OperationTemplate(parsing: template.document.serialized())
        hold(again?.document == template.document, "shown as it came, it is another one")
        var backend = FuzzServer.backend
        try backend.insert(template)
        let reply = backend.cloud(
            "POST",
            "/v2/operations",
            ["template": .string(template.name), "userId": "alice", "parameters": parameters]
        )
        hold([200, 400, 507].contains(reply.status), "\(reply.status)")
        hold(backend.cloud("GET", "/v2/operations").status == 200, "its operation cannot be listed")
    },
    FuzzTarget("device-rule") { input in
        let rule = try readTwice { try Emulator.DeviceRule(json: JSONValue(parsing: input)) }
        try rule.check()
        hold(try Emulator.DeviceRule(json: rule.json) == rule, "another rule")
        hold(FuzzServer.now.addingTimeInterval(rule.after) >= FuzzServer.now, "due before it was shown")
    },
    // The first byte chooses one of the endpoints that take a body, the rest is that body.
    FuzzTarget("control-body") { input in
        var reader = InputReader(input)
        let (method, path) = endpoints[Int(reader.byte()) % endpoints.count]
        var request = ReceivedRequest(method: method, path: "/_emulator" + path)
        request.headers = [("Content-Type", "application/json"), ("Authorization", "Basic YTpi")]
        request.body = Array(reader.rest)
        let status = FuzzServer.site(request)
        hold((200..<500).contains(status) || status == 507, "\(method) \(path): \(status)")
    },
    FuzzTarget("space-path") { input in
        let path = input.text
        guard let space = SpacePath(path) else { return }
        hold(!space.id.isEmpty && !space.id.utf8.contains(UInt8(ascii: "/")), "no identifier")
        hold(path.utf8.starts(with: SpacePath.prefix(of: space.id).utf8), "another space")
        hold(space.inner.isEmpty || space.inner.utf8.first == UInt8(ascii: "/"), "no path")
        hold(path.utf8.count >= SpacePath.prefix(of: space.id).utf8.count + space.inner.utf8.count, "made up")
    },
    // The head of a request as the HTTP library leaves it in its buffer, and the positions that it gives for the parts.
    FuzzTarget("request-head") { input in
        var reader = InputReader(input)
        let (before, count) = (Int(reader.byte()), Int(reader.byte()))
        let bytes = Array(reader.rest)
        bytes.withUnsafeBytes { buffer in
            _ = RequestHead.hasPlainLines(buffer)
            guard let method = buffer.baseAddress, before < buffer.count else { return }
            let version = method + before
            let head = RequestHead(
                method: method,
                targetAddress: UInt(bitPattern: version) &- UInt(count) &- 1,
                targetCount: count,
                version: version,
                size: buffer.count
            )
            let isPlain = RequestHead.hasPlainLines(UnsafeRawBufferPointer(rebasing: buffer[before...]))
            hold(head.isUnambiguous == (before > 0 && isPlain), "a head whose lines are none")
        }
    },
]

private let endpoints = [
    ("PUT", "/clock"), ("PUT", "/protocol"), ("PUT", "/faults"), ("POST", "/faults"), ("POST", "/scenario"),
    ("POST", "/templates"), ("POST", "/devices"), ("POST", "/operations/preview"), ("POST", "/cloud/operations"),
    ("POST", "/cloud/registrations"), ("POST", "/cloud/callbacks"), ("POST", "/cloud/inbox/messages"),
    ("POST", "/oidc/codes"), ("POST", "/cloud/messages/send"), ("POST", "/cloud/signature/verify"),
    ("POST", "/cloud/token/verify"),
]

/// The number in a message that begins with `line N:`.
private func line(in message: String) -> Int? {
    guard message.utf8.starts(with: "line ".utf8) else { return nil }
    return Int(String(message.utf8.dropFirst(5).prefix { $0 != UInt8(ascii: ":") }) ?? "")
}
