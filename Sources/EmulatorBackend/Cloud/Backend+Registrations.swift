import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthProtocol

extension Backend {
    /// Adds a registration that waits for a device.
    mutating func add(_ registration: ServerActivation) {
        self.state.activations[registration.id] = registration
        guard let offer = registration.offer else { return }
        self.state.offers[offer.code] = registration.id
        self.watch(offer.expires)
    }

    /// Returns the application that a request names, or the server's own.
    func application(namedIn request: JSONObject) throws(Refusal) -> ServerApplication {
        let id = try request.optionalString("appId") ?? self.defaultApplicationID
        guard let application = self.state.applications[id] else { throw .unknownApplication("appId", id) }
        return application
    }

    /// A registration as the cloud API shows it.
    func presented(_ activation: ServerActivation) -> JSONObject {
        var object: JSONObject = [
            "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
            "status": .string(activation.status.rawValue),
            "userId": .string(activation.userID),
            "applicationId": .string(activation.applicationID),
            "appId": .string(activation.applicationID),
            "flags": .strings(activation.flags),
            "failedAttempts": .number(JSONNumber(activation.failedAttempts)),
            "maxFailedAttempts": .number(JSONNumber(activation.maximumFailedAttempts)),
            "timestampCreated": .number(JSONNumber(activation.created)),
            "timestampLastUsed": .number(JSONNumber(activation.lastUsed)),
        ]
        if activation.status == .created, let offer = activation.offer {
            object["activationCode"] = .string(offer.code)
            object["activationCodeSignature"] = .string(offer.signature)
            object["activationQrCodeData"] = .string(offer.qrCode)
            object["timestampExpires"] = .number(JSONNumber(offer.expires))
        }
        object["name"] = activation.name.map { .string($0) }
        object["platform"] = activation.platform.map { .string($0) }
        object["deviceInfo"] = activation.deviceInfo.map { .string($0) }
        object["externalUserId"] = activation.externalUserID.map { .string($0) }
        object["protocolVersion"] = activation.protocolVersion.map { .string($0) }
        object["algorithm"] = activation.suite.map { .string($0.rawValue) }
        object["activationFingerprint"] = activation.fingerprint.map { .string($0) }
        object["blockedReason"] = activation.blockedReason.map { .string($0) }
        object["timestampBlockExpire"] = activation.blockExpires.map { .number(JSONNumber($0)) }
        if let device = self.state.devices[activation.id] {
            var push: JSONObject = ["platform": .string(device.platform), "token": .string(device.token)]
            push["environment"] = device.environment.map { .string($0) }
            push["timestampRegistered"] = .number(JSONNumber(device.registered))
            object["push"] = .object(push)
        }
        return object
    }
}

extension JSONObject {
    /// Returns a time that is still to come, or nil when the member is missing or null.
    func optionalTime(_ name: String, after now: Milliseconds) throws(Refusal) -> Milliseconds? {
        guard let time = try self.optionalInteger(name) else { return nil }
        let value = JSONValue.number(JSONNumber(time))
        guard time > now else { throw .invalid(name, "is not in the future", value: value) }
        // No clock shows more, and sums with it must not overflow.
        guard time <= Date.shownByClocks.upperBound.milliseconds else {
            throw .invalid(name, "is out of range", value: value)
        }
        return time
    }
}

extension ReceivedRequest {
    /// Returns a value of the query that says yes or no; no when it is not there.
    func flag(_ name: String) throws(Refusal) -> Bool {
        switch self.queryValue(name) {
        case nil, "", "false": return false
        case "true": return true
        case let value?: throw .invalid(name, "is not true or false", value: .string(value))
        }
    }
}
