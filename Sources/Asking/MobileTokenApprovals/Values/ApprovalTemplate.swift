import Basics

/// A template of the server, with the form of its data as the requester expects it.
///
/// The signed data are compared with this form, so an edited template at the server is detected.
/// ```swift
/// let deploy = ApprovalTemplate("deploy", signs: "A9*T${service}*N${version}*R${binding}")
/// ```
public struct ApprovalTemplate: Sendable, Hashable, Codable {
    /// The name at the server.
    public let name: String
    /// The form of the signed data, with `${…}` for each parameter. It must contain `${binding}`.
    public let signs: String
    /// The type of its operations; `nil` skips the comparison.
    public let operationType: String?

    /// The parameter that holds the binding.
    static let binding = "binding"
    /// The parameter that holds the fingerprint.
    static let fingerprint = "fingerprint"

    /// Creates a description of a template.
    public init(_ name: String, signs: String, operationType: String? = nil) {
        self.name = name
        self.signs = signs
        self.operationType = operationType
    }

    /// Throws if no request could use the form.
    package func checkForm() throws(ApprovalError) { try self.check(parameters: self.placeholders()) }

    /// Throws if the form cannot be compared, or does not sign the binding.
    func check(parameters: some Sequence<String>) throws(ApprovalError) {
        guard (1...255).contains(self.name.utf8.count), self.name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ApprovalError(.invalidRequest, "A template's name has 1 to 255 printable characters of ASCII")
        }
        let names = try self.placeholders()
        guard names.contains(Self.binding) else {
            throw ApprovalError(
                .invalidRequest,
                """
                The template '\(self.name)' does not sign the binding. Let its data end in *R${binding}, at the server and in \
                signs: "\(self.signs)*R${binding}"
                """
            )
        }
        let known = Set(parameters).union([Self.binding, Self.fingerprint])
        if let missing = names.first(where: { !known.contains($0) }) {
            throw ApprovalError(
                .invalidRequest,
                "The template '\(self.name)' signs '\(missing)', which the request lacks"
            )
        }
    }

    /// Throws if approvers may read an amount or an account that they do not sign.
    func checkReadable(_ parameters: [String: String]) throws(ApprovalError) {
        let signed = Set(try self.placeholders())
        let values = parameters.merging([Self.binding: "", Self.fingerprint: ""]) { _, own in own }
        let readable = ReadableValues(signing: try self.data(parameters: values))
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            guard let deception = readable.deception(in: value, named: name, isSigned: signed.contains(name)) else {
                continue
            }
            throw ApprovalError(
                .invalidRequest,
                """
                The parameter '\(name)' shows \(deception) that the template '\(self.name)' does not sign: people would read one and \
                sign another. Let the template sign it, or leave it out
                """
            )
        }
    }

    static func checkName(ofParameter name: String) throws(ApprovalError) {
        guard (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "._-".utf8.contains($0) })
        else {
            throw ApprovalError(.invalidRequest, "A parameter's name has letters, digits and . _ - alone, at most 64")
        }
        guard name != Self.binding, name != Self.fingerprint else {
            throw ApprovalError(.invalidRequest, "The parameters 'binding' and 'fingerprint' are the desk's own")
        }
    }

    /// Returns the data that the server must sign.
    ///
    /// A value cannot end its field: `\` and `*` in it are escaped as by the server.
    func data(parameters: [String: String]) throws(ApprovalError) -> String {
        var data = ""
        for part in try self.parts() {
            switch part {
            case .literal(let literal): data += literal
            case .parameter(let name):
                guard let value = parameters[name] else {
                    throw ApprovalError(
                        .invalidRequest,
                        "The template '\(self.name)' signs '\(name)', which is missing"
                    )
                }
                for scalar in value.unicodeScalars {
                    if scalar == "\\" || scalar == "*" { data.unicodeScalars.append("\\") }
                    data.unicodeScalars.append(scalar)
                }
            }
        }
        return data
    }

    private enum Part {
        case literal(String)
        case parameter(String)
    }

    private func placeholders() throws(ApprovalError) -> [String] {
        try self.parts().compactMap { if case .parameter(let name) = $0 { name } else { nil } }
    }

    private func parts() throws(ApprovalError) -> [Part] {
        guard self.signs.utf8.count <= 4_096,
            !self.signs.unicodeScalars.contains(where: { DisplayText.isUnsafe($0) || DisplayText.isBlank($0) })
        else {
            throw ApprovalError(
                .invalidRequest,
                "The signed form of '\(self.name)' is too long or holds invisible characters"
            )
        }
        var parts: [Part] = []
        var rest = self.signs.utf8[...]
        while let start = rest.firstIndex(ofBrace: UInt8(ascii: "$")) {
            if start > rest.startIndex { parts.append(.literal(String(Substring(rest[..<start])))) }
            let name = rest[start...].dropFirst(2)
            guard let end = name.firstIndex(of: UInt8(ascii: "}")) else {
                throw ApprovalError(.invalidRequest, "The signed form of '\(self.name)' has a '${' without its '}'")
            }
            parts.append(.parameter(String(Substring(name[..<end]))))
            rest = name[end...].dropFirst()
        }
        if !rest.isEmpty { parts.append(.literal(String(Substring(rest)))) }
        guard self.signs.utf8[...].firstIndex(ofBrace: UInt8(ascii: "@")) == nil else {
            throw ApprovalError(.invalidRequest, "The signed form of '\(self.name)' holds '@{': texts are not signed")
        }
        return parts
    }
}

extension Substring.UTF8View {
    /// Returns the index of a brace opened after this character: `${` or `@{`.
    fileprivate func firstIndex(ofBrace character: UInt8) -> Index? {
        self.indices.first {
            self[$0] == character && self[$0...].dropFirst().first == UInt8(ascii: "{")
        }
    }
}
