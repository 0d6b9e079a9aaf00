import Basics
import ExactJSON
import MobileTokenCloud

/// A device's proof for its activation.
struct ActivationIdentity {
    enum Kind: String {
        case code = "CODE"
        case custom = "CUSTOM"
        /// An identity confirmed by an OpenID provider.
        case direct = "DIRECT"
        /// The recovery code of an earlier activation, only in version 3.
        case recovery = "RECOVERY"

        /// Reads a type by its name. Real servers also accept the first one's number.
        init?(_ value: JSONValue?) {
            if value?.int64 == 0 {
                self = .code
            } else {
                self.init(rawValue: value?.string ?? "")
            }
        }
    }

    /// The allowed members of the outer layer.
    static let members: Set<String> = ["type", "identityAttributes", "customAttributes", "activationData"]

    let kind: Kind
    let attributes: [String: String]

    init(_ layer: JSONObject) throws(Refusal) {
        guard let kind = Kind(layer["type"]) else { throw .activation("the activation type is unknown") }
        var attributes: [String: String] = [:]
        for name in try layer.optionalObject("identityAttributes")?.keys ?? [] {
            attributes[name] = try layer.optionalObject("identityAttributes")?.optionalString(name)
        }
        self.kind = kind
        self.attributes = attributes
    }
}

/// The permission for a device to activate.
enum ActivationGrant {
    /// A waiting registration.
    case registration(ServerActivation)
    /// A new activation for a user with accepted credentials.
    case credentials(userID: String)
    /// A new activation for a user signed in at an OpenID provider. It consumes the code.
    case oidc(grantKey: String, userID: String)
    /// A new activation that replaces another one of the user.
    case replacement(by: RecoveryCode)
}

extension Backend {
    /// Decides whether a device may activate.
    ///
    /// - Parameter otp: The device's additional one-time password.
    mutating func grant(
        _ identity: ActivationIdentity,
        otp: String?,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ActivationGrant {
        switch identity.kind {
        case .code:
            return .registration(try self.registration(waitingFor: identity, otp: otp, application, &context))
        case .direct where identity.attributes["method"]?.isExactly("oidc") == true:
            let (key, userID) = try self.signedInUser(identity, at: context.now)
            try self.requireRoomForActivation()
            return .oidc(grantKey: key, userID: userID)
        case .custom, .direct:
            // The bank's own code handles other methods, as it does all custom identities.
            guard self.protocolRules.acceptsCustomIdentities else {
                throw .activation("no code of the bank's judges it; the rule 'acceptsCustomIdentities' stands for some")
            }
            // Every caller gets an activation, because there are no passwords here. The user is the attribute of that meaning, or
            // the first in alphabetical order.
            let named = ["userId", "username", "login"].lazy.compactMap { identity.attributes[$0] }.first
            if identity.kind == .direct, named == nil {
                // These attributes are an OpenID provider's, not a user name.
                let isThere = identity.attributes["method"] != nil
                throw .activation(
                    isThere
                        ? "the method of the direct activation is unknown" : "'method' is missing, and the user's name"
                )
            }
            let first = identity.attributes.min { $0.key < $1.key }?.value
            guard let userID = named ?? first else { throw .activation("there are no identity attributes") }
            guard !userID.isEmpty else { throw .activation("the identity attribute that names the user is empty") }
            try self.requireRoomForActivation()
            return .credentials(userID: userID)
        case .recovery:
            throw .activation("there is no recovery in this version of the protocol")
        }
    }

    /// Verifies the user's sign-in at an OpenID provider, as a bank's server does.
    private func signedInUser(
        _ identity: ActivationIdentity,
        at now: Milliseconds
    ) throws(Refusal) -> (grantKey: String, userID: String) {
        func attribute(_ name: String) throws(Refusal) -> String {
            guard let value = identity.attributes[name], !value.isEmpty else {
                throw .activation("the identity attribute '\(name)' is missing")
            }
            return value
        }
        let (code, nonce) = (try attribute("code"), try attribute("nonce"))
        guard let provider = self.oidcProvider(try attribute("providerId")) else {
            throw .activation("there is no such provider, or it is switched off")
        }
        let (key, grant) = try self.oidcGrant(of: code)
        let verifier = identity.attributes["codeVerifier"]
        try grant.check(providerID: provider.id, verifier: verifier, nonce: nonce, at: now)
        return (key, grant.userID)
    }

    private mutating func registration(
        waitingFor identity: ActivationIdentity,
        otp: String?,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation {
        guard let code = identity.attributes["code"], let id = self.state.offers[code],
            let activation = self.state.activations[id]
        else { throw .activation("the activation code is unknown, used or expired") }
        context.activationID = id
        guard activation.applicationID == application.id else {
            throw .activation("the activation code belongs to another application")
        }
        guard activation.status == .created else { throw .activation("the activation code was used") }
        let isGiven = otp?.isEmpty == false
        guard !isGiven || activation.otp?.stage != .commit else {
            throw .activation("the activation OTP is asked for at the commit, and the device must not send it")
        }
        guard activation.acceptsOTP(otp, at: .keyExchange) else {
            if isGiven { self.state.activations.update(id) { $0.countWrongOTP() } }
            if self.state.activations[id]?.status == .removed { self.remove(id, &context) }
            throw .activation("the activation OTP is missing or wrong")
        }
        return activation
    }

    /// Binds a device's keys to its grant.
    mutating func begin(
        _ grant: ActivationGrant,
        _ device: DeviceBinding,
        _ description: ServerActivation.Description,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) -> ServerActivation {
        var activation: ServerActivation
        switch grant {
        case .registration(let registration):
            activation = registration
            if let code = registration.offer?.code { self.state.offers[code] = nil }
            activation.bind(device, description, commits: registration.commits(atKeyExchangeWith: description.otp))
        case .credentials(let userID):
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .oidc(let key, let userID):
            self.state.oidcGrants.update(key) { $0.use() }
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .replacement(let recovery):
            self.state.recoveryCodes.update(recovery.code) { $0.status = .used }
            if self.state.activations[recovery.activationID]?.status != .removed {
                self.remove(recovery.activationID, &context)
            }
            activation = self.newActivation(userID: recovery.userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        }
        self.state.activations[activation.id] = activation
        context.activationID = activation.id
        context.report(activation)
        return activation
    }

    private mutating func newActivation(
        userID: String,
        applicationID: String,
        _ now: Milliseconds
    ) -> ServerActivation {
        ServerActivation(
            id: self.state.randomness.identifier(),
            userID: userID,
            applicationID: applicationID,
            offer: nil,
            maximumFailedAttempts: self.limits.failedAttempts,
            created: now
        )
    }
}

extension ServerActivation.Description {
    /// Reads the device's description of itself.
    init(_ layer: JSONObject) throws(Refusal) {
        /// Returns a string that fits the column of a real server's database.
        func text(_ name: String, _ limit: Int) throws(Refusal) -> String? {
            guard let text = try layer.optionalString(name) else { return nil }
            guard text.unicodeScalars.count <= limit else {
                throw .activation("'\(name)' is longer than \(limit) characters")
            }
            guard !text.utf8.contains(0) else { throw .activation("'\(name)' has a NUL character") }
            return text
        }
        self.init(
            name: try text("activationName", 255),
            platform: try text("platform", 255)?.lowercased() ?? "unknown",
            deviceInfo: try text("deviceInfo", 255),
            extras: try text("extras", 4_000),
            otp: try layer.optionalString("activationOtp")
        )
    }
}

extension Backend {
    /// Returns the claims about an activation's user, with the defaults of real servers.
    mutating func claims(about activation: ServerActivation, at now: Milliseconds) -> JSONValue {
        [
            "sub": .string(activation.userID), "jti": .string(self.state.randomness.identifier()),
            "iat": .number(JSONNumber(now / 1000)),
        ]
    }
}
