package import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import PowerAuth

/// A requester's settings, in `asking.json`, without credentials.
package struct AskSettings: Codable, Sendable, Equatable {
    /// The server that asks people.
    struct Cloud: Codable, Sendable, Equatable {
        var url: String
        /// The absolute path of the credentials file; `nil` if they come from the environment or an option.
        var credentialsFile: String?
        /// A public key of the server, or several separated by `;`.
        var pin: String?
        /// The absolute path of a file of certificate authorities.
        var caFile: String?
        var allowsInsecureHTTP: Bool?
        /// The proxy, as in `--proxy`; `nil` for none.
        var proxy: String?
    }

    /// The requester's expected form of a template.
    struct Template: Codable, Sendable, Equatable {
        var signs: String
        var operationType: String?
    }

    /// The scope of the approvals.
    package var audience: String
    var cloud: Cloud
    /// The place of the ledger, in the form of ``LedgerPlace``; `nil` for a file in the profile.
    var ledger: String?
    /// The place of the ledger's sealing key; `nil` for the file beside it.
    var sealingKey: String?
    var templates: [String: Template]
    /// The user ids of people if they differ from their names.
    var people: [String: [String]]?
    /// The PEM keys of people's devices, obtained through another channel than the server: with any, every person asked needs
    /// one.
    var deviceKeys: [String: [String]]?

    /// Returns the settings of a profile, if it has any.
    ///
    /// - Throws: `ConfigurationError`, also for an unknown member: a misspelled one, such as a pin, must not be ignored.
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

    /// Returns the settings of a profile, which must exist.
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

    func person(_ name: String) -> Approvers.Person { .init(name, users: self.people?[name] ?? []) }

    /// Returns the keys of people's devices, by user id.
    ///
    /// - Parameter others: Further PEM keys, by person.
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

    /// The transport to the server.
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
