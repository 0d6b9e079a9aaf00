import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport

/// Commands for a running server. With `--json` they write the server's response, as described in `/docs`.
enum DriverCommands {
    static let all =
        [register, create, commit, cancel, block, unblock, fault, clock, journal, settle, reset, export, importState]
        + [templates, template, play]

    private static let registration = Command.Operand("ID", "the registration, or its activation")

    static let register = Command(
        "register",
        summary: "Register a device for a user, and show its activation code.",
        operands: [.init("USER", "whose device it will be")],
        options: RemoteServer.options + [
            .init("flag", "NAME", "a flag of the activation"),
            .init("protocol", "VERSION", "the version whose master key signs the QR code, such as 4.0"),
        ]
    ) { invocation in
        let response = try await RemoteServer(invocation).send(
            .post,
            "/cloud/registrations",
            [
                ("userId", .string(try invocation.required(0))),
                ("flags", invocation["flag"].map { [.string($0)] }),
                ("protocolVersion", invocation["protocol"].map { .string($0) }),
            ]
        )
        return Self.show(invocation, response) {
            "\($0.text("registrationId"))  \($0.text("activationQrCodeData"))"
        }
    }

    static let create = Command(
        "create",
        summary: "Create an operation, from a template or from a form of your own.",
        discussion: """
            Parameters that are left out have the template's examples; 'templates' lists them. With --form, a file holds what
            the user is shown as JSON, and --name and --data say what the device sees and what is signed.
            """,
        operands: [
            .init("TEMPLATE", "what it is made from", isOptional: true),
            .init("NAME=VALUE", "a parameter of the template", isOptional: true, takesRest: true),
        ],
        options: RemoteServer.options + [
            .init("user", "USER", "who is to decide (default: the first who claims it)"),
            .init("form", "FILE", "what the user is shown, as JSON, instead of a template"),
            .init("name", "NAME", "with --form: the name that the device sees"),
            .init("data", "TEXT", "with --form: what is signed"),
            .init("lifetime", "SECONDS", "for how long it can be decided"),
            .init("proximity", nil, "ask for a one-time code with the approval"),
            .init("external-id", "TEXT", "the bank's own identifier"),
            .init("callback-url", "URL", "where to tell of it"),
        ]
    ) { invocation in
        let lifetime = try invocation.integer("lifetime", in: 1...31_536_000)
        let members: [(String, JSONValue?)] = [
            ("userId", invocation["user"].map { .string($0) }),
            ("expiresIn", lifetime.map { .number(JSONNumber($0)) }),
            ("proximityCheckEnabled", invocation.has("proximity") ? true : nil),
            ("externalId", invocation["external-id"].map { .string($0) }),
            ("callbackUrl", invocation["callback-url"].map { .string($0) }),
        ]
        let content = try Self.content(invocation)
        let response = try await RemoteServer(invocation).send(.post, "/cloud/operations", members + content)
        return Self.show(invocation, response) { "\($0.text("operationId"))  \($0.text("status"))" }
    }

    private static func content(_ invocation: Invocation) throws -> [(String, JSONValue?)] {
        guard let file = invocation["form"] else {
            guard let template = invocation.operand(0), invocation["name"] == nil, invocation["data"] == nil else {
                throw invocation.misuse("give a template, or --form with --name and --data")
            }
            let parameters = try invocation.operands.dropFirst().map { word in
                guard let sign = word.utf8.firstIndex(of: UInt8(ascii: "=")), sign != word.startIndex else {
                    throw invocation.misuse("'\(word)' is not NAME=VALUE")
                }
                let value = word.utf8[sign...].dropFirst()
                return JSONObject.Member(
                    key: String(Substring(word.utf8[..<sign])),
                    value: .string(String(Substring(value)))
                )
            }
            return [("template", .string(template)), ("parameters", .object(JSONObject(parameters)))]
        }
        guard invocation.operands.isEmpty, let name = invocation["name"], let data = invocation["data"] else {
            throw invocation.misuse("--form needs --name and --data, and no template")
        }
        do {
            let form = try JSONValue(parsing: Self.contents(of: file, invocation))
            return [("operationType", .string(name)), ("data", .string(data)), ("formData", form)]
        } catch let error as JSONError {
            throw invocation.misuse("\(file): \(error)")
        }
    }

    static let commit = Command(
        "commit",
        summary: "Let a registration become active, after its device has activated.",
        operands: [registration],
        options: RemoteServer.options + [.init("otp", "CODE", "the code that the registration asks for")]
    ) { invocation in
        let id = try invocation.required(0)
        let response = try await RemoteServer(invocation).send(
            .post,
            "/cloud/registrations/\(PercentEncoding.encode(id))/commit",
            [("activationOtp", invocation["otp"].map { .string($0) })],
            naming: "registration \(id)"
        )
        return Self.show(invocation, response) { "\($0.text("registrationId"))  \($0.text("registrationStatus"))" }
    }

    static let cancel = Command(
        "cancel",
        summary: "Cancel an operation that waits for a decision.",
        operands: [.init("ID", "the operation")],
        options: RemoteServer.options + [.init("reason", "TEXT", "why")]
    ) { invocation in
        let id = try invocation.required(0)
        let response = try await RemoteServer(invocation).send(
            .delete,
            "/cloud/operations/\(PercentEncoding.encode(id))",
            query: invocation["reason"].map { [("statusReason", $0)] } ?? [],
            naming: "operation \(id)"
        )
        return Self.show(invocation, response) { "\($0.text("operationId"))  \($0.text("status"))" }
    }

    static let block = Command(
        "block",
        summary: "Block an activation, for good or for a time.",
        operands: [registration],
        options: RemoteServer.options + [.init("seconds", "NUMBER", "after how many the block ends by itself")]
    ) { invocation in
        let seconds = try invocation.integer("seconds", in: 1...31_536_000)
        return try await Self.change(invocation, "block", [("seconds", seconds.map { .number(JSONNumber($0)) })])
    }

    static let unblock = Command(
        "unblock",
        summary: "Unblock an activation.",
        operands: [registration],
        options: RemoteServer.options
    ) { invocation in
        try await Self.change(invocation, "unblock", [])
    }

    private static func change(
        _ invocation: Invocation,
        _ action: String,
        _ members: [(String, JSONValue?)]
    ) async throws -> ExitCode {
        let id = try invocation.required(0)
        let path = "/activations/\(PercentEncoding.encode(id))/\(action)"
        let response = try await RemoteServer(invocation).send(.post, path, members, naming: "activation \(id)")
        return Self.show(invocation, response) { "\($0.text("registrationId"))  \($0.text("status"))" }
    }

    // MARK: Output

    static func show(
        _ invocation: Invocation,
        _ response: JSONValue,
        _ text: (JSONValue) -> String
    ) -> ExitCode {
        Output(isJSON: invocation.has("json")).result(response, text: text(response))
        return .done
    }

    /// - Throws: `UsageError` if the file is unreadable.
    static func contents(of file: String, _ invocation: Invocation) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw invocation.misuse("cannot read '\(file)'")
        }
        return Array(data)
    }
}

extension JSONValue {
    /// Returns a member for a person; empty if it is absent.
    func text(_ name: String) -> String {
        switch self[name] {
        case .string(let string)?: TextTable.printable(string)
        case .number(let number)?: number.literal
        case .bool(let flag)?: "\(flag)"
        default: ""
        }
    }
}
