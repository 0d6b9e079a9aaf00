import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuthProtocol

extension Backend {
    /// Adds a registration that waits for a device.
    mutating func add(_ registration: ServerActivation) {
        self.state.activations[registration.id] = registration
        guard let offer = registration.offer else { return }
        self.state.offers[offer.code] = registration.id
        self.watch(offer.expires)
    }

    /// Returns the named application, or the server's default.
    func application(named id: String?) throws(Refusal) -> ServerApplication {
        let id = id ?? self.defaultApplicationID
        guard let application = self.state.applications[id] else { throw .unknownApplication("appId", id) }
        return application
    }
}

extension CloudClient.Registration {
    /// Creates the cloud API's form of a registration.
    package init(_ bank: Backend, _ activation: ServerActivation) {
        let status = CloudClient.RegistrationStatus(rawValue: activation.status.rawValue)
        self.init(id: activation.id, status: status, userID: activation.userID, created: activation.created)
        self.repeatedStatus = status
        (self.applicationID, self.appID) = (activation.applicationID, activation.applicationID)
        self.givenFlags = activation.flags
        (self.failedAttempts, self.maximumFailedAttempts) = (
            activation.failedAttempts, activation.maximumFailedAttempts
        )
        self.lastUsedMilliseconds = activation.lastUsed
        if activation.status == .created, let offer = activation.offer {
            self.activationCode = offer.code
            self.activationCodeSignature = offer.signature
            self.activationQRCode = offer.qrCode
            self.expiresMilliseconds = offer.expires
        } else if activation.hasExpired == true {
            self.expiresMilliseconds = activation.offer?.expires
        }
        self.name = activation.name
        self.platform = activation.platform
        self.deviceInfo = activation.deviceInfo
        self.externalUserID = activation.externalUserID
        self.protocolVersion = activation.protocolVersion
        self.algorithm = activation.suite?.rawValue
        self.fingerprint = activation.fingerprint
        self.blockedReason = activation.blockedReason
        self.blockExpiresMilliseconds = activation.blockExpires
        self.push = bank.state.devices[activation.id].map { device in
            PushTarget(
                platform: device.platform,
                token: device.token,
                environment: device.environment,
                registered: device.registered
            )
        }
    }
}

extension Milliseconds {
    /// Returns a member's time, which must be in the future.
    func checked(as name: String, after now: Milliseconds) throws(Refusal) -> Milliseconds {
        let value = JSONValue.number(JSONNumber(self))
        guard self > now else { throw .invalid(name, "is not in the future", value: value) }
        // No clock shows more, and sums with it must not overflow.
        guard self <= Date.shownByClocks.upperBound.milliseconds else {
            throw .invalid(name, "is out of range", value: value)
        }
        return self
    }
}
