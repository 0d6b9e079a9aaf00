import CommandLineSupport
import ExactJSON
import MobileToken
import PowerAuth
import PowerAuthProtocol

/// Commands for the server's data besides the activation itself: its name, codes for other devices, configuration.
enum ServerSideCommands {
    static let all = [name, rename, transfer, configuration]

    static let name = Command(
        "name",
        summary: "Show the name of this device on the server.",
        options: PasswordSource.options
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        let name = try await activation.nameAtServer(authenticatedBy: .possessionAndKnowledge(password: password))
        session.output.result(
            ["name": name.map { .string($0) } ?? .null],
            text: name.map(TextTable.printable) ?? "The device has no name."
        )
        return .done
    }

    static let rename = Command(
        "rename",
        summary: "Give this device another name on the server.",
        operands: [.init("NAME", "the new name: 1 to 255 bytes of UTF-8")],
        options: PasswordSource.options
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        let name = try invocation.required(0)
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        try await activation.rename(to: name, with: .possessionAndKnowledge(password: password))
        session.output.outcome(["name": .string(name)], text: "The name is \(TextTable.printable(name)).")
        return .done
    }

    static let transfer = Command(
        "transfer",
        summary: "Have the server make an activation code for another device of the user.",
        discussion: "The other device gives the one-time password along with the code, which lives for a few minutes.",
        options: PasswordSource.options + [
            .init("application", "ID", "the application on the other device, as the server's administrator named it"),
            .init("otp", "CODE", "a one-time password of your choice for the other device: 16 characters or more"),
        ]
    ) { invocation in
        guard let application = invocation["application"], let otp = invocation["otp"] else {
            throw invocation.misuse("--application and --otp are needed")
        }
        let session = try Session(invocation)
        let activation = try await session.activation()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        let code = try await activation.transferCode(
            applicationID: application,
            otp: otp,
            with: .possessionAndKnowledge(password: password)
        )
        session.output.result(
            [
                "activationId": .string(code.activationID),
                "activationCode": .string(code.activationCode),
                "qrCodeContent": .string(code.qrCodeContent),
            ],
            text: code.qrCodeContent
        )
        return .done
    }

    static let configuration = Command(
        "configuration",
        summary: "Show what the server's administrator keeps for clients, in version 4.0 of the protocol.",
        discussion: "By default what this activation may have; with --application what every client may.",
        options: [
            .init("application", nil, "what every client may have; needs no activation"),
            ActivationCommands.suiteOption,
        ]
    ) { invocation in
        let entries: [MobileTokenClient.ServerConfigurationEntry]
        let session: Session
        if invocation.has("application") {
            session = try Session(invocation, version: .v4_0, suite: ActivationCommands.suite(invocation))
            entries = try await session.client.serverConfiguration()
        } else {
            session = try Session(invocation)
            entries = try await session.activation().serverConfiguration()
        }
        session.output.result(
            .array(
                entries.map {
                    ["key": .string($0.key), "value": $0.value, "scope": .string($0.scope.rawValue)]
                }
            ),
            text: entries.isEmpty
                ? "The server keeps nothing."
                : entries.map { TextTable.printable("\($0.key): \($0.value.serialized)") }.joined(separator: "\n")
        )
        return .done
    }
}

extension JSONValue {
    /// The value as JSON on one line.
    fileprivate var serialized: String { String(decoding: self.serialized(), as: UTF8.self) }
}
