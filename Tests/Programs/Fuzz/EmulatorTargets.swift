import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto

@testable import EmulatorBackend
@testable import EmulatorHTTP
@testable import MobileTokenEmulator

let emulatorTargets = [
    FuzzTarget("fault-rules") { input in
        let rule = try readTwice { try FaultRule(json: JSONValue(parsing: input)) }
        hold(try FaultRule(json: rule.json) == rule, "another rule")
        var injector = FaultInjector()
        injector.append(rule)
        var random = SeededRandomness(seed: 1)
        _ = injector.fault(method: "POST", path: "/pa/v3/status", activationID: nil, using: &random)
    },
    FuzzTarget("path-pattern") { input in
        var reader = InputReader(input)
        let pattern = reader.line()
        let path = reader.line()
        hold(PathPattern("**").matches(path), "anything is not anything")
        if !pattern.utf8.contains(where: { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }) {
            hold(PathPattern(pattern).matches(path) == pattern.utf8.elementsEqual(path.utf8), "not itself")
        }
        _ = PathPattern(pattern).matches(path)
    },
    FuzzTarget("template") { input in
        let template = try OperationTemplate(parsing: input)
        hold(!template.name.isEmpty, "no name")
    },
    FuzzTarget("template-parameters") { input in
        var backend = FuzzServer.backend
        let parameters = (try? JSONValue(parsing: input)) ?? .null
        for template in ["login", "payment"] {
            let reply = backend.cloud(
                "POST",
                "/v2/operations",
                ["template": .string(template), "userId": "alice", "parameters": parameters]
            )
            checkReply(reply)
        }
    },
    FuzzTarget("import") { input in
        let backend = try Backend(importing: input, configuration: FuzzServer.configuration.backend)
        let document = try backend.exported()
        let again = try Backend(importing: document, configuration: FuzzServer.configuration.backend)
        hold(try again.exported() == document, "exported and imported, it is another state")
        var used = backend
        checkReply(used.cloud("GET", "/v2/operations"))
        _ = ControlJSONPages.of(backend)
    },
    FuzzTarget("language") { input in
        let language = ReaderLocale(acceptLanguage: input.text).language
        hold(language.isEmpty || (2...8).contains(language.utf8.count), "a language that there is not")
    },
    FuzzTarget("request-target") { input in
        let request = ReceivedRequest(method: "GET", target: input.text)
        _ = formDecoded(input.text)
        _ = request.isFramedUnambiguously
        hold(!request.path.isEmpty, "no path")
    },
    FuzzTarget("qr") { input in
        guard let code = QRCode(input.text) else { return }
        hold(code.modules.count == code.width * code.width, "not a square")
        _ = code.svg
    },
    // A whole request, as it comes off the wire. Each begins with the same state.
    FuzzTarget("backend") { input in
        var backend = FuzzServer.backend
        let request = ReceivedRequest(wire: input)
        let reply = backend.reply(to: request, at: FuzzServer.now)
        checkReply(reply)
        var other = FuzzServer.backend
        let again = other.reply(to: request, at: FuzzServer.now)
        // Not the bodies: signatures are random.
        hold(reply.status == again.status && reply.code == again.code, "the same request has two answers")
    },
    // Bodies that are signed as they should be: what an attacker who owns a device can send.
    FuzzTarget("signed-body") { input in
        var (backend, device) = FuzzServer.withDevice
        var reader = InputReader(input)
        let endpoint = FuzzDevice.signedEndpoints[Int(reader.byte()) % FuzzDevice.signedEndpoints.count]
        let body = Array(reader.rest)
        let reply = try device.send(endpoint, body: body, to: &backend)
        checkReply(reply)
        // Real servers call a request that names no operation unauthenticated, too.
        let operation = (try? JSONValue(parsing: body))?["requestObject"]?["id"]?.string ?? ""
        let isNamed = operation.utf8.contains { $0 > 0x20 }
        hold(!isNamed || reply.code != "POWERAUTH_AUTH_FAIL", "a right signature was refused")
    },
    // Bodies with a token, likewise.
    FuzzTarget("token-body") { input in
        var (backend, device) = FuzzServer.withDevice
        var reader = InputReader(input)
        let paths = FuzzDevice.tokenPaths
        let path = paths[Int(reader.byte()) % paths.count]
        checkReply(device.sendWithToken(path, body: Array(reader.rest), to: &backend))
    },
    // The content inside the two envelopes of an activation.
    FuzzTarget("activation-plaintext") { input in
        var backend = FuzzServer.backend
        var device = FuzzDevice(backend.defaultApplication)
        var reader = InputReader(input)
        let outer = reader.line()
        let body = try device.activationBody(outer: Array(outer.utf8), inner: Array(reader.rest))
        checkReply(device.sendEncrypted("/pa/v3/activation/create", body, to: &backend))
    },
    // Everything that is served, the control API too. The state goes on for a while, then it is reset.
    FuzzTarget("site") { input in
        let status = FuzzServer.site(ReceivedRequest(wire: input))
        hold((100...599).contains(status), "no status")
    },
]

private func checkReply(_ reply: Reply) {
    hold((200...599).contains(reply.status), "no status")
    hold((try? JSONValue(parsing: reply.body)) != nil, "no JSON")
    if case .refused = reply.verdict { hold(reply.status >= 400, "a refusal that looks like success") }
}

/// The lists that the console shows, written as it gets them.
enum ControlJSONPages {
    static func of(_ backend: Backend) -> [[UInt8]] {
        [
            SummaryPage.form("Activations").json(backend.activationPage(.init())).serialized(),
            SummaryPage.form("Operations").json(backend.operationPage(.init(), at: FuzzServer.now)).serialized(),
            SummaryPage.form("Messages").json(backend.messagePage(.init())).serialized(),
        ]
    }
}

extension ReceivedRequest {
    /// Reads a request line, header lines, an empty line and a body, as leniently as a fuzzer needs.
    init(wire: [UInt8]) {
        var reader = InputReader(wire)
        let first = reader.line().split(separator: " ", maxSplits: 2)
        self.init(method: first.first.map(String.init) ?? "GET", target: first.count > 1 ? String(first[1]) : "/")
        while true {
            let line = reader.line()
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { break }
            self.headers.append((String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)))
        }
        self.body = Array(reader.rest)
    }
}
