import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken
import PowerAuth
import PowerAuthProtocol

enum ActivationCommands {
    static let all = [activate, confirm, waitForCommit, status, counter, upgrade, changePassword, remove]

    static let activate = Command(
        "activate",
        summary: "Make this profile a device of the user who holds an activation code, or signs in.",
        discussion: """
            Compare the fingerprint with the one that the server shows, then commit the activation there. With --oidc, open the
            address that is shown in a browser, sign in, and paste the address that the browser is led to: a line on standard
            input. Nobody has to commit such an activation.

            A server refuses a one-time password that it is to check at the commit. One that it did not ask for makes the activation active
            at once at some servers (1.9), without the bank's commit.
            """,
        operands: [
            .init("CODE", "the activation code, or the content of its QR code; not with --oidc", isOptional: true)
        ],
        options: PasswordSource.options + [
            .init("oidc", "PROVIDER", "sign in at this OpenID provider of the server, in place of a code"),
            .init("name", "TEXT", "the name of this device on the server (default: mobile-token)"),
            .init(
                "otp",
                "CODE",
                "the one-time password that some servers require; leave it out where the bank checks it itself"
            ),
            .init("protocol", "VERSION", "3.1, 3.2, 3.3 or 4.0 (default: 3.3)"),
            suiteOption,
            .init("replace", nil, "forget the profile's current activation"),
            .init("recovery-codes", nil, "show the recovery code and its PUK, this once: they are stored nowhere"),
        ]
    ) { invocation in
        let session = try Session(invocation, version: Self.version(invocation), suite: Self.suite(invocation))
        guard try await session.activationID() == nil || invocation.has("replace") else {
            throw invocation.misuse("this profile has an activation; use --replace, or another --profile")
        }
        guard (invocation["oidc"] == nil) != (invocation.operand(0) == nil) else {
            throw invocation.misuse("either CODE or --oidc is needed")
        }
        let source = try PasswordSource(invocation)
        if invocation["oidc"] != nil, case .standardInput = source.place {
            throw invocation.misuse("--oidc reads the address from standard input; use --password-file")
        }
        let password = try source.readNew(prompt: "New password: ")
        var request: ActivationRequest
        if let provider = invocation["oidc"] {
            request = try await Self.signIn(at: provider, session, invocation)
        } else {
            request = try ActivationRequest(code: invocation.required(0))
        }
        (request.name, request.otp) = (invocation["name"] ?? "mobile-token", invocation["otp"])
        var recovery: ActivationResult.RecoveryCodes?
        let activation = try await session.activate { [request] client in
            let result = try await client.activate(request, password: password)
            recovery = result.recovery
            return result.activation
        }
        let shown = invocation.has("recovery-codes") ? recovery : nil
        if recovery != nil, shown == nil {
            Output.note("mobile-token: the server made a recovery code, which is not shown without --recovery-codes")
        }
        var document: JSONObject = [
            "activationId": .string(activation.activationID), "fingerprint": .string(activation.fingerprint),
        ]
        if let shown { document["recovery"] = ["code": .string(shown.code), "puk": .string(shown.puk)] }
        let text = "Activated \(TextTable.printable(activation.activationID)), fingerprint \(activation.fingerprint)."
        let codes = shown.map { ["Recovery code \($0.code), PUK \($0.puk)."].map(TextTable.printable) } ?? []
        session.output.outcome(.object(document), text: ([text] + codes).joined(separator: "\n"))
        return .done
    }

    /// Prints the sign-in address, and reads the redirect address.
    private static func signIn(
        at provider: String,
        _ session: Session,
        _ invocation: Invocation
    ) async throws -> ActivationRequest {
        let authorization = try await session.client.oidc(providerID: provider)
        Output.note("Sign in at:\n\(TextTable.printable(authorization.authorizeURL))")
        Output.note("Then paste the address that begins with \(TextTable.printable(authorization.redirectURL))")
        guard let callback = readLine() else {
            throw invocation.misuse("no address on standard input")
        }
        return try ActivationRequest(oidc: authorization, callback: callback)
    }

    static let confirm = Command(
        "confirm",
        summary: "Complete an activation in version 4.0 that was interrupted.",
        discussion: "Nothing can be signed before. Does nothing when the activation is complete.",
        options: PasswordSource.options
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        try await activation.confirm(password: PasswordSource(invocation).read(prompt: "Password: "))
        session.output.outcome(["confirmed": true], text: "The activation is complete.")
        return .done
    }

    static let waitForCommit = Command(
        "wait-for-commit",
        summary: "Wait until the server has committed the activation.",
        discussion: "The exit code is 10 when it does not in time, 8 or 9 when the activation is blocked or removed.",
        options: [.init("within", "SECONDS", "the longest time to wait (default: 300)")]
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        try await activation.waitUntilCommitted(within: invocation.seconds("within") ?? .seconds(300))
        session.output.result(["committed": true], text: "The activation is committed.")
        return .done
    }

    private static func version(_ invocation: Invocation) throws -> ProtocolVersion {
        guard let name = invocation["protocol"] else { return .v3_3 }
        guard let version = ProtocolVersion(rawValue: name) else {
            let names = ProtocolVersion.allCases.map(\.rawValue).joined(separator: ", ")
            throw invocation.misuse("--protocol takes one of: \(names)")
        }
        return version
    }

    static let suiteOption = Command.Option(
        "suite",
        "NAME",
        "the algorithms in version 4.0: EC_P384, EC_P384_ML_L3 (default) or EC_P384_ML_L5"
    )

    static func suite(_ invocation: Invocation) throws -> AlgorithmSuite? {
        guard let name = invocation["suite"] else { return nil }
        guard let suite = AlgorithmSuite(rawValue: name) else {
            let names = AlgorithmSuite.allCases.map(\.rawValue).joined(separator: ", ")
            throw invocation.misuse("--suite takes one of: \(names)")
        }
        return suite
    }

    static let upgrade = Command(
        "upgrade",
        summary: "Upgrade the activation to version 4.0 of the protocol, which cannot be undone.",
        discussion: "The server must offer it, which 'status' shows. Password and identifier stay; services go on.",
        options: PasswordSource.options + [suiteOption]
    ) { invocation in
        let session = try Session(invocation, suite: Self.suite(invocation))
        let activation = try await session.activation()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        try await activation.upgrade(password: password)
        session.output.outcome(
            [
                "activationId": .string(activation.activationID),
                "version": .string(activation.version.rawValue),
                "suite": activation.suite.map { .string($0.rawValue) } ?? .null,
                "fingerprint": .string(activation.fingerprint),
            ],
            text:
                "The activation speaks version \(activation.protocolDescription), fingerprint \(activation.fingerprint)."
        )
        return .done
    }

    static let status = Command(
        "status",
        summary: "Show the activation's state on the server, and synchronize the counter.",
        discussion: "The exit code is 9 when the activation was removed from the server."
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        let status = try await activation.status()
        session.output.result(
            [
                "activationId": .string(activation.activationID),
                "state": .string("\(status.state)"),
                "failedAttempts": .number(JSONNumber(status.failedAttempts)),
                "remainingAttempts": .number(JSONNumber(status.remainingAttempts)),
                "blockedUntil": status.blockedUntil.map { .string($0.formatted(.iso8601)) } ?? .null,
                "counter": .string("\(status.counter.result)"),
                "version": .string(activation.version.rawValue),
                "suite": activation.suite.map { .string($0.rawValue) } ?? .null,
                "isUpgradeOffered": .bool(status.isUpgradeOffered),
                "flags": .array(status.flags.names.map { .string($0) }),
            ],
            text: ([
                "\(status.state), \(status.remainingAttempts) attempts left, counter \(status.counter.result)",
                "version \(activation.protocolDescription)",
            ] + (status.isUpgradeOffered ? ["upgrade to 4.0 offered"] : []) + status.flags.names)
            .joined(separator: ", ")
        )
        return status.state == .removed ? .removed : .done
    }

    static let counter = Command(
        "counter",
        summary: "Show how far the counters of the server and of this activation are apart.",
        discussion: """
            A counter that is behind is moved forward, and one that is far ahead lets the server catch up. When no signature
            can be accepted any more (deadlock, rolledBack) the exit code is 1, and the activation must be replaced. After ten
            signatures that the server has not seen, nothing is signed any more (signaturesAreLost, exit code 3): put the line right,
            and spend one of those that are left with --try. One that arrives heals everything.
            """,
        options: [.init("try", nil, "spend one signature, without a password, to find out whether signatures arrive")]
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        let status = try await invocation.has("try") ? activation.tryCounter() : activation.status()
        let counter = status.counter
        let left = counter.canSign ? max(0, counter.window - max(0, counter.distance)) : 0
        session.output.result(
            [
                "result": .string("\(counter.result)"),
                "distance": .number(JSONNumber(counter.distance)),
                "window": .number(JSONNumber(counter.window)),
                "left": .number(JSONNumber(left)),
                "lost": .number(JSONNumber(status.lostSignatures)),
            ],
            text: "\(counter.result): distance \(counter.distance), window \(counter.window), \(left) left"
        )
        guard counter.canSign else { return .refused }
        return invocation.has("try") && counter.distance > 0 ? .unavailable : .done
    }

    static let changePassword = Command(
        "password",
        "change",
        summary: "Change the activation's password.",
        discussion: """
            The current password is verified by the server first, so that a typing mistake cannot lock the activation. With
            --password-stdin the first line is the current password and the second the new one.
            """,
        options: PasswordSource.options + [.init("new-password-file", "FILE", "read the new password from a file")]
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        let current = try PasswordSource(invocation)
        let old = try current.read(prompt: "Current password: ")
        let next = invocation["new-password-file"].map { PasswordSource(place: .file($0)) } ?? current
        let new = try next.readNew(prompt: "New password: ")
        try await activation.changePassword(from: old, to: new)
        session.output.outcome(["changed": true], text: "The password is changed.")
        return .done
    }

    static let remove = Command(
        "remove",
        summary: "Remove the activation on the server and on this machine.",
        options: PasswordSource.options + [
            .init("local", nil, "forget it on this machine only, without a request to the server")
        ]
    ) { invocation in
        let session = try Session(invocation)
        let activation = try await session.activation()
        if invocation.has("local") {
            try await activation.removeLocally()
        } else {
            let password = try PasswordSource(invocation).read(prompt: "Password: ")
            try await activation.remove(authenticatedBy: .possessionAndKnowledge(password: password))
        }
        try session.forgetActivation()
        session.output.outcome(
            ["removed": .string(activation.activationID)],
            text: "Removed \(TextTable.printable(activation.activationID))."
        )
        return .done
    }
}

extension Activation {
    /// The protocol version, with the suite if there is one.
    fileprivate nonisolated var protocolDescription: String {
        ([self.version.rawValue] + [self.suite?.rawValue].compactMap(\.self)).joined(separator: " with ")
    }
}
