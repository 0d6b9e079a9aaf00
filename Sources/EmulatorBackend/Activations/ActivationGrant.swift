import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The proof with which a device may activate.
struct ActivationIdentity {
    enum Kind: String {
        case code = "CODE"
        case custom = "CUSTOM"
        /// An identity that an OpenID provider vouches for.
        case direct = "DIRECT"
        /// The code that an earlier activation came with. In version 3 alone.
        case recovery = "RECOVERY"
    }

    /// The members that the outer layer may have.
    static let members: Set<String> = ["type", "identityAttributes", "customAttributes", "activationData"]

    let kind: Kind
    let attributes: [String: String]

    /// Reads the members of the outer layer.
    init(_ layer: JSONObject) throws(Refusal) {
        let name = try layer.string("type")
        guard let kind = Kind(rawValue: name) else { throw .activation("the activation type is unknown") }
        var attributes: [String: String] = [:]
        for (name, value) in try layer.valuesByName(of: "identityAttributes") {
            guard let string = value.string else {
                throw .invalidRequest("'identityAttributes' is not a map of strings")
            }
            attributes[name] = string
        }
        self.kind = kind
        self.attributes = attributes
    }
}

/// The grant of an activation to a device.
enum ActivationGrant {
    /// A registration that waited for it.
    case registration(ServerActivation)
    /// A new activation for a user whose credentials were accepted.
    case credentials(userID: String)
    /// A new activation for a user whom an OpenID provider signed in. The code is used up by it.
    case oidc(grantKey: String, userID: String)
    /// A new activation in place of another one of the user.
    case replacement(of: String, userID: String)
}

extension Backend {
    /// Decides whether a device may activate.
    ///
    /// - Parameter otp: The one-time password that the device shows beside.
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
            // Another method is for the bank's own code to judge, as everything is that is custom. Every caller gets an activation: there are no passwords here. The user is named by the attribute that
            // says so, or by the first in alphabetical order.
            let named = ["userId", "username", "login"].lazy.compactMap { identity.attributes[$0] }.first
            if identity.kind == .direct, named == nil {
                // These attributes are those of an OpenID provider, not the name of a user.
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

    /// Decides whether an OpenID provider has signed a user in, as the server of a bank does that asks the provider.
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
        guard activation.acceptsOTP(otp, at: .keyExchange) else {
            self.state.activations.update(id) { $0.countWrongOTP() }
            if self.state.activations[id]?.status == .removed { self.remove(id, &context) }
            throw .activation("the activation OTP is missing or wrong")
        }
        return activation
    }

    /// Binds the keys of a device to what it was granted.
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
            activation.bind(device, description, commits: registration.commitsAtKeyExchange)
        case .credentials(let userID):
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .oidc(let key, let userID):
            self.state.oidcGrants.update(key) { $0.use() }
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .replacement(let id, let userID):
            self.remove(id, &context)
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
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
    /// Reads what a device says of itself.
    init(_ layer: JSONObject) throws(Refusal) {
        self.init(
            name: try layer.optionalString("activationName"),
            platform: try layer.optionalString("platform"),
            deviceInfo: try layer.optionalString("deviceInfo"),
            extras: try layer.optionalString("extras"),
            otp: try layer.optionalString("activationOtp")
        )
    }
}

extension ServerActivation {
    /// The claims about the user, as OpenID names them.
    func claims(at now: Milliseconds) -> JSONValue {
        [
            "sub": .string(self.userID),
            "preferred_username": .string(self.userID),
            "iat": .number(JSONNumber(now / 1000)),
        ]
    }
}
