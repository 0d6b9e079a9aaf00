import Basics
public import PowerAuth
import PowerAuthCrypto

/// A request for an approval: the people, the shown values, and the bytes to act on.
///
/// ```swift
/// let request = ApprovalRequest(
///     id: "deploy-1234", from: .user("alice"), template: deploy,
///     parameters: ["service": "billing", "version": "4.2.1"],
///     action: .bytes(manifest), expires: .seconds(300)
/// )
/// ```
public struct ApprovalRequest: Sendable, Identifiable {
    /// The effect of canceling the waiting task on the question.
    public enum Cancellation: Sendable, Hashable {
        /// It is withdrawn.
        case withdraw
        /// It stays open; the same request continues to wait.
        case keep
    }

    /// Server responses that the caller accepts.
    public struct Acceptance: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int
        /// Creates a set.
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// Unreadable signed data: a person approved something under this operation, but it may not have been this question.
        public static let unverifiedData = Self(rawValue: 1)
    }

    /// The permanent name of the question: repeated requests ask once.
    public var id: String
    /// The people who must approve.
    public var approvers: Approvers
    /// The template at the server.
    public var template: ApprovalTemplate
    /// The values that the template shows and signs.
    public var parameters: [String: Parameter]
    /// The bytes to act on.
    public var action: Action
    /// The time to decide, between 10 seconds and a day.
    public var expires: Duration
    /// The language of push messages, such as `cs`.
    public var language: String?
    /// The validity of the decision.
    public var validFor: Duration = .seconds(300)
    /// The accepted factors, such as `possession_knowledge`; `nil` for any that the template allows.
    public var factors: Set<String>?
    /// The registrations that may decide; `nil` for any.
    ///
    /// A holder of the requester's credentials can register a device for a person, and approve with it. Name the devices, or
    /// require ``minimumDeviceAge``.
    public var devices: Set<String>?
    /// The minimum age of the deciding device when the question is asked. Devices listed in ``devices`` are exempt. With `nil`,
    /// the device need only be older than the question, and only if the server reports which device decided.
    public var minimumDeviceAge: Duration?
    /// The registrations whose offline QR codes show an operation's data, by user id, for a server whose responses do not.
    public var offlineRegistrations: [String: String] = [:]
    /// The public keys of people's devices, by user id, obtained through another channel than the server; empty to trust the
    /// server.
    ///
    /// With any, every person needs a key of their own. An approval then counts only if one of the person's keys signed the data,
    /// which detects a lying server. The device must sign by itself: an agent with `signsByDevice`, a bank's app if it is made
    /// to.
    public var deviceKeys: [String: [DeviceKey.PublicKey]] = [:]
    /// The effect of canceling the waiting task on the question.
    public var onCancel: Cancellation = .withdraw
    /// Server responses that the caller accepts.
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

    /// Returns the terms; throws if the request is invalid, before any person is asked.
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
        try self.template.checkReadable(self.parameters.mapValues(\.string))
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
            // A mistyped name must not leave a person's approval unsigned.
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
    /// The duration in whole milliseconds, rounded down and clamped.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return product.addingSaturated(attoseconds / 1_000_000_000_000_000)
    }
}
