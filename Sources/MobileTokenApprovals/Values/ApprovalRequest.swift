import Basics
public import PowerAuth
import PowerAuthCrypto

/// A request for an approval: who is asked, what they see, and the bytes that will be acted on.
///
/// ```swift
/// let request = ApprovalRequest(
///     id: "deploy-1234", from: .user("alice"), template: deploy,
///     parameters: ["service": "billing", "version": "4.2.1"],
///     action: .bytes(manifest), expires: .seconds(300)
/// )
/// ```
public struct ApprovalRequest: Sendable, Identifiable {
    /// The fate of the question when the waiting task is canceled.
    public enum Cancellation: Sendable, Hashable {
        /// It is withdrawn.
        case withdraw
        /// It stays asked; the same request goes on waiting.
        case keep
    }

    /// Answers of the server with which the caller is content.
    public struct Acceptance: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int
        /// Creates a set.
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// The signed data may be unreadable: then a person approved something under this operation, and nobody knows that it was this.
        public static let unverifiedData = Self(rawValue: 1)
    }

    /// The name of the question, once for all: asked twice is asked once.
    public var id: String
    /// Those who must approve.
    public var approvers: Approvers
    /// The template at the server.
    public var template: ApprovalTemplate
    /// The values that the template shows and signs.
    public var parameters: [String: Parameter]
    /// The bytes that are acted on.
    public var action: Action
    /// The time within which people can decide, between 10 seconds and a day.
    public var expires: Duration
    /// The language of what is pushed, such as `cs`.
    public var language: String?
    /// The time after the decision within which it can be used.
    public var validFor: Duration = .seconds(300)
    /// The factors that count, such as `possession_knowledge`; `nil` for any that the template allows.
    public var factors: Set<String>?
    /// The registrations that may decide; `nil` for any.
    ///
    /// Whoever holds the asker's credentials can register a device for a person, and approve with it. Name the devices, or ask for
    /// ``minimumDeviceAge``.
    public var devices: Set<String>?
    /// The time that the deciding registration must be older than the question, unless ``devices`` names it; `nil` when it must only not
    /// be newer, if the server says which it was.
    public var minimumDeviceAge: Duration?
    /// The registrations whose offline QR code tells the data of an operation, by user id, for a server whose answers do not.
    public var offlineRegistrations: [String: String] = [:]
    /// The public keys of people's devices, by user id, learned by another way than the server; empty when the server's word is enough.
    ///
    /// With any, everybody who is asked needs a key that nobody else has. Then an approval counts only if one of its person's keys has signed
    /// the data, so that a lie of the server is noticed. The device must sign by itself: an agent does so with `signsByDevice`, a bank's app when it is made to.
    public var deviceKeys: [String: [DeviceKey.PublicKey]] = [:]
    /// The fate of the question when the waiting task is canceled.
    public var onCancel: Cancellation = .withdraw
    /// Answers of the server with which the caller is content.
    public var accepting: Acceptance = []

    /// Creates a request.
    public init(
        id: String,
        from approvers: Approvers,
        template: ApprovalTemplate,
        parameters: [String: Parameter] = [:],
        action: Action,
        expires: Duration
    ) {
        self.id = id
        self.approvers = approvers
        self.template = template
        self.parameters = parameters
        self.action = action
        self.expires = expires
    }

    /// Refuses what cannot be asked, before anybody is.
    func terms(audience: String) throws(ApprovalError) -> Terms {
        for (name, value) in [("id", self.id), ("audience", audience)] {
            guard (1...255).contains(value.utf8.count), value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ApprovalError(
                    .invalidRequest,
                    "The \(name) has 1 to 255 printable characters of ASCII, without spaces"
                )
            }
        }
        try self.approvers.check()
        for (name, value) in self.parameters {
            try ApprovalTemplate.checkName(ofParameter: name)
            try value.check(name: name)
        }
        try self.template.check(parameters: self.parameters.keys)
        guard (.seconds(10) ... .seconds(86_400)).contains(self.expires), self.expires.components.attoseconds == 0
        else {
            throw ApprovalError(.invalidRequest, "A question expires after whole seconds, between 10 and 86 400")
        }
        guard (.seconds(1) ... .seconds(86_400)).contains(self.validFor) else {
            throw ApprovalError(.invalidRequest, "An approval can be used for a time between one second and a day")
        }
        if let age = self.minimumDeviceAge, !(.zero ... .seconds(1 << 32)).contains(age) {
            throw ApprovalError(.invalidRequest, "A device's age is not negative")
        }
        guard self.devices?.isEmpty != true, self.factors?.isEmpty != true else {
            throw ApprovalError(.invalidRequest, "An empty set of devices or factors lets nobody approve")
        }
        if !self.deviceKeys.isEmpty {
            // A name that is mistyped must not leave somebody's approval unsigned.
            for person in self.approvers.people where self.deviceKeys[person.user]?.isEmpty != false {
                throw ApprovalError(
                    .invalidRequest,
                    "There is no device key of \(person), while there are some of others"
                )
            }
            let keys = self.deviceKeys.values.flatMap { Set($0.map(\.der)) }
            guard Set(keys).count == keys.count else {
                throw ApprovalError(.invalidRequest, "A device key is of two people: one device would sign for both")
            }
        }
        if let language = self.language {
            guard (1...35).contains(language.utf8.count),
                language.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == 0x2D })
            else {
                throw ApprovalError(.invalidRequest, "A language is a tag such as 'cs' or 'en-GB'")
            }
        }
        return Terms(
            audience: audience,
            id: self.id,
            approvers: self.approvers,
            template: self.template,
            parameters: self.parameters.mapValues(\.string),
            seconds: self.expires.components.seconds,
            actionDigest: self.action.digest,
            validFor: self.validFor.milliseconds,
            factors: self.factors?.sorted(),
            devices: self.devices?.sorted(),
            minimumDeviceAge: self.minimumDeviceAge?.milliseconds,
            offlineRegistrations: self.offlineRegistrations,
            deviceKeys: self.deviceKeys.isEmpty ? nil : self.deviceKeys.mapValues { $0.map { Base64.encode($0.der) } },
            acceptsUnverifiedData: self.accepting.contains(.unverifiedData),
            language: self.language
        )
    }
}

extension Duration {
    /// In whole milliseconds, rounded down; bounded.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return product.addingSaturated(attoseconds / 1_000_000_000_000_000)
    }
}
