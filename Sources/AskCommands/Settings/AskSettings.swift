package import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import PowerAuth

/// The settings of a profile that asks for approvals, in `asking.json`. No credentials are among them.
package struct AskSettings: Codable, Sendable, Equatable {
    /// The server that asks people.
    struct Cloud: Codable, Sendable, Equatable {
        var url: String
        /// The absolute path of the file with the credentials; `nil` when they come from the environment or an option.
        var credentialsFile: String?
        /// A public key of the server, or several with `;` between them.
        var pin: String?
        /// The absolute path of a file of certificate authorities.
        var caFile: String?
        var allowsInsecureHTTP: Bool?
        /// The proxy, as `--proxy` names it; `nil` for none.
        var proxy: String?
    }

    /// The form of a template as the asker knows it.
    struct Template: Codable, Sendable, Equatable {
        var signs: String
        var operationType: String?
    }

    /// The name of what the approvals are for.
    package var audience: String
    var cloud: Cloud
    /// The place of the ledger, as a ``LedgerPlace`` describes it; `nil` for a file in the profile.
    var ledger: String?
    /// The place of the ledger's sealing key; `nil` for the file beside it.
    var sealingKey: String?
    var templates: [String: Template]
    /// The user ids of people who have others than their name.
    var people: [String: [String]]?
    /// The keys of people's devices in PEM, learned by another way than the server: with any, everybody who is asked needs one.
    var deviceKeys: [String: [String]]?

    /// Returns the settings of a profile, if it has any.
    ///
    /// - Throws: `ConfigurationError` also for a member that is not known: one that is misspelt, such as a pin, must not pass for none.
    package static func load(_ folder: ProfileFolder) throws -> Self? {
        guard let settings = try folder.load(Self.self, folder.askingFile) else { return nil }
        let (file, name) = (try Data(contentsOf: folder.askingFile), folder.askingFile.path)
        let known = try JSONEncoder().encode(settings)
        guard let written = try? JSONValue(parsing: Array(file)), let read = try? JSONValue(parsing: Array(known))
        else {
            throw ConfigurationError(message: "the profile '\(name)' cannot be read")
        }
        if let lost = Self.member(of: written, missingIn: read) {
            throw ConfigurationError(message: "the profile '\(name)' has a member that is not known: '\(lost)'")
        }
        return settings
    }

    /// Returns the settings of a profile, which must be there.
    static func existing(_ folder: ProfileFolder) throws -> Self {
        guard let settings = try self.load(folder) else {
            throw UsageError(
                message: "the profile '\(folder.name)' does not ask for anything yet; see 'mobile-token ask configure'"
            )
        }
        return settings
    }

    private static func member(of one: JSONValue, missingIn other: JSONValue) -> String? {
        for member in one.object?.members ?? [] where !member.value.isNull {
            guard let value = other[member.key] else { return member.key }
            if let lost = self.member(of: member.value, missingIn: value) { return "\(member.key).\(lost)" }
        }
        return nil
    }

    /// Returns the template of a name.
    func template(_ name: String) throws -> ApprovalTemplate {
        guard let template = self.templates[name] else {
            let known = self.templates.keys.sorted().joined(separator: ", ")
            throw UsageError(
                message: """
                    the profile pins no template '\(name)'\(known.isEmpty ? "" : ", but \(known)"); see --signs of 'ask configure'
                    """
            )
        }
        return ApprovalTemplate(name, signs: template.signs, operationType: template.operationType)
    }

    /// Returns the person of a name.
    func person(_ name: String) -> Person { Person(name, users: self.people?[name] ?? []) }

    /// Returns the keys of people's devices, by the user id that is asked.
    ///
    /// - Parameter others: Further keys in PEM, by person.
    func deviceKeys(adding others: [String: [String]]) throws -> [String: [DeviceKey.PublicKey]] {
        let keys = (self.deviceKeys ?? [:]).merging(others, uniquingKeysWith: +)
        do {
            return try keys.reduce(into: [:]) { byUser, entry in
                byUser[self.person(entry.key).user, default: []] += try entry.value.map(DeviceKey.PublicKey.init(pem:))
            }
        } catch let error as MobileTokenError {
            throw ConfigurationError(message: "a device key of the profile: \(error.message)")
        }
    }

    /// The settings of requests to the server.
    func transport(timeout: Duration?) throws -> CurlTransport {
        var trust = Profile.Trust()
        (trust.pin, trust.caFile) = (self.cloud.pin, self.cloud.caFile)
        var configuration = try trust.transport(through: self.cloud.proxy.map { try ProxyChoice($0) })
        if let timeout { configuration.timeout = timeout }
        configuration.maximumResponseSize = 1 << 20
        do { return try CurlTransport(configuration: configuration) } catch {
            throw ConfigurationError(message: "the profile's connection: \(error)")
        }
    }
}
