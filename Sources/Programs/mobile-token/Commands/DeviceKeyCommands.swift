import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken
import PowerAuth

enum DeviceKeyCommands {
    static let all = [show, certificateRequest]

    private static let mldsa = Command.Option(
        "ml-dsa",
        nil,
        "the key for ML-DSA, which hybrid suites of version 4.0 have"
    )

    static let show = Command(
        "device-key",
        summary: "Show the device's public key, in PEM.",
        discussion: "Asks neither the server nor for a password.",
        options: [mldsa]
    ) { invocation in
        let session = try Session(invocation)
        let keys = try await session.activation().devicePublicKeys()
        guard let key = invocation.has("ml-dsa") ? keys.mldsa : keys.ecdsa else {
            throw MobileTokenError(.notSupported, "the activation has no key for ML-DSA")
        }
        session.output.result(
            [
                "pem": .string(key.pem),
                "der": .string(Data(key.der).base64EncodedString()),
                "raw": .string(Data(key.rawBytes).base64EncodedString()),
            ],
            text: key.pem.trimmingCharacters(in: .newlines)
        )
        return .done
    }

    static let certificateRequest = Command(
        "certificate-request",
        summary: "Make a request for a certificate of the device's key (PKCS#10), in PEM.",
        discussion: """
            The request is signed by the key, which the server unlocks. SUBJECT is the name of the device as types and values,
            such as '/CN=approval bot/O=Example Bank'; a slash within a value is written '\\/'.
            """,
        operands: [.init("SUBJECT", "the name in the certificate, such as '/CN=approval bot'")],
        options: PasswordSource.options + [
            mldsa,
            .init("names", "LIST", "other names, apart by blanks: dns:NAME, ip:ADDRESS, email:ADDRESS or uri:URI"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        var subject = DeviceKey.CertificateSubject(name: try Self.name(invocation.required(0), invocation))
        subject.alternativeNames = try (invocation["names"] ?? "").split(separator: " ").map {
            try Self.alternativeName($0, invocation)
        }
        let activation = try await session.activation()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        let request = try await activation.certificateRequest(
            for: subject,
            by: invocation.has("ml-dsa") ? .mldsa : .ecdsa,
            with: .possessionAndKnowledge(password: password)
        )
        session.output.result(
            ["pem": .string(request.pem), "der": .string(Data(request.der).base64EncodedString())],
            text: request.pem.trimmingCharacters(in: .newlines)
        )
        return .done
    }

    /// Parses `/TYPE=VALUE/TYPE=VALUE`, in which a backslash escapes the next character.
    private static func name(_ text: String, _ invocation: Invocation) throws -> [(type: String, value: String)] {
        var parts: [String] = []
        var isEscaped = false
        for character in text.unicodeScalars {
            if !isEscaped, character == "/" {
                parts.append("")
            } else if !isEscaped, character == "\\", !parts.isEmpty {
                isEscaped = true
                continue
            } else if !parts.isEmpty {
                parts[parts.count - 1].unicodeScalars.append(character)
            } else {
                break
            }
            isEscaped = false
        }
        let name = parts.map { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return (type: pair[0], value: pair.count == 2 ? pair[1] : "")
        }
        guard !name.isEmpty, !isEscaped, name.allSatisfy({ !$0.type.isEmpty && !$0.value.isEmpty }) else {
            throw invocation.misuse("a subject is such as '/CN=approval bot'")
        }
        return name
    }

    private static func alternativeName(
        _ text: Substring,
        _ invocation: Invocation
    ) throws -> DeviceKey.CertificateSubject.AlternativeName {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.dropFirst().first) {
        case ("dns"?, let name?): return .hostName(name)
        case ("ip"?, let address?): return .address(address)
        case ("email"?, let address?): return .email(address)
        case ("uri"?, let uri?): return .uri(uri)
        default:
            throw invocation.misuse("--names takes dns:NAME, ip:ADDRESS, email:ADDRESS and uri:URI")
        }
    }
}
