internal import Basics
internal import EmulatorMessages
internal import ExactJSON
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    mutating func createRegistration(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let userID = try request.string("userId")
        let flags = try request.strings("flags")
        try self.requireRoom(forFlags: flags)
        let applicationID = try request.optionalString("appId") ?? self.defaultApplicationID
        guard let application = self.state.applications[applicationID] else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        let otp = try Self.activationOTP(in: request)
        let commitPhase = try Self.commitPhase(in: request)
        guard commitPhase != .onKeyExchange || otp?.stage != .commit else {
            throw .invalidRequest("A code is to be checked at a commit that there will not be")
        }
        let registration: ServerActivation
        do {
            registration = try self.addRegistration(
                userID: userID,
                flags: flags,
                application: application,
                otp: otp,
                commitPhase: commitPhase,
                context.now
            )
        } catch {
            throw .activation("the activation code cannot be signed")
        }
        context.activationID = registration.id
        context.report(registration)
        return .json(.object(self.presented(registration)))
    }

    private static func commitPhase(in request: JSONObject) throws(Refusal) -> ServerActivation.CommitPhase? {
        guard let text = try request.optionalString("commitPhase") else { return nil }
        guard let phase = ServerActivation.CommitPhase(rawValue: text) else {
            throw .invalidRequest("'commitPhase' is neither ON_COMMIT nor ON_KEY_EXCHANGE")
        }
        return phase
    }

    /// A code of the user's own for the activation: checked while keys are exchanged, or when the server side commits.
    private static func activationOTP(in request: JSONObject) throws(Refusal) -> ActivationOTP? {
        let value = try request.optionalString("activationOtp", or: "otp")
        let validation = try request.optionalString("activationOtpValidation", or: "otpValidation")
        let stage: ActivationOTP.Stage
        switch validation {
        case "ON_KEY_EXCHANGE": stage = .keyExchange
        case "ON_COMMIT": stage = .commit
        case nil where value != nil: stage = .commit
        case nil, "NONE"?:
            guard value == nil else { throw .invalidRequest("A code was given, and that none is checked") }
            return nil
        default: throw .invalidRequest("'activationOtpValidation' is none of NONE, ON_KEY_EXCHANGE and ON_COMMIT")
        }
        guard let value, !value.isEmpty else { throw .invalidRequest("'activationOtp' is missing") }
        return ActivationOTP(value: value, stage: stage)
    }

    func listRegistrations(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let userID = context.request.queryValue("userId")
        let listed = self.state.activations.newestFirst.lazy
            .filter { activation in userID.map { activation.userID.isExactly($0) } ?? true }
            .prefix(1_000)
        return .json(["registrations": .array(listed.map { .object(self.presented($0)) })])
    }

    func registration(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        .json(.object(self.presented(try self.addressedRegistration(&context))))
    }

    mutating func commitRegistration(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try self.addressedRegistration(&context)
        let request = try context.json()
        let externalUserID = try request.optionalString("externalUserId")
        let otp = try request.optionalString("activationOtp", or: "otp")
        do {
            try activation.commit(externalUserID: externalUserID, otp: otp)
        } catch {
            // A wrong code is counted, and the last one removes the activation.
            self.keep(activation, &context)
            throw Refusal(
                400,
                "INVALID_ACTIVATION",
                "The registration cannot be committed",
                because: error.reason
            )
        }
        self.activateRecoveryCodes(of: activation.id)
        self.keep(activation, &context)
        return self.changed(activation)
    }

    mutating func changeRegistration(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try self.addressedRegistration(&context)
        let change = try context.json().string("change")
        do {
            switch change {
            case "BLOCK": try activation.block(reason: "NOT_SPECIFIED")
            case "UNBLOCK": try activation.unblock()
            default: throw Refusal.invalidRequest("'change' is neither BLOCK nor UNBLOCK")
            }
        } catch let error as ActivationStateError {
            throw Refusal(
                400,
                "INVALID_ACTIVATION",
                "The registration's state forbids it",
                because: error.reason
            )
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .invalidRequest("The change was not made")
        }
        self.keep(activation, &context)
        return self.changed(activation)
    }

    mutating func removeRegistration(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.addressedRegistration(&context)
        guard activation.status != .removed else {
            throw Refusal(400, "INVALID_ACTIVATION", "The registration is already removed")
        }
        self.remove(activation.id, &context)
        return self.changed(self.state.activations[activation.id] ?? activation)
    }

    func registrationFlags(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.addressedRegistration(&context)
        return .json(["registrationId": .string(activation.id), "flags": Self.list(activation.flags)])
    }

    mutating func addRegistrationFlags(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try self.addressedRegistration(&context)
        for flag in try context.json().strings("flags") where !activation.flags.contains(flag) {
            activation.flags.append(flag)
        }
        try self.requireRoom(forFlags: activation.flags)
        self.keep(activation, &context)
        return .json(["registrationId": .string(activation.id), "flags": Self.list(activation.flags)])
    }

    mutating func removeRegistrationFlags(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try self.addressedRegistration(&context)
        // A DELETE may come without a body: then all go.
        let removed = context.request.body.isEmpty ? activation.flags : try context.json().strings("flags")
        activation.flags.removeAll(where: removed.contains)
        self.keep(activation, &context)
        return .json(["registrationId": .string(activation.id), "flags": Self.list(activation.flags)])
    }

    func addressedRegistration(_ context: inout RequestContext) throws(Refusal) -> ServerActivation {
        guard let id = context.pathArguments.first, let activation = self.state.activations[id] else {
            throw Refusal(404, "REGISTRATION_NOT_FOUND", "There is no such registration")
        }
        context.activationID = id
        return activation
    }

    private mutating func keep(_ activation: ServerActivation, _ context: inout RequestContext) {
        self.state.activations[activation.id] = activation
        context.report(activation)
    }

    /// `status` is what callers of the commit look for, `registrationStatus` what everybody else calls it.
    private func changed(_ activation: ServerActivation) -> ServerResponse {
        .json([
            "status": "OK",
            "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
        ]
        )
    }

    private func presented(_ activation: ServerActivation) -> JSONObject {
        var object: JSONObject = [
            "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
            "status": .string(activation.status.rawValue),
            "userId": .string(activation.userID),
            "appId": .string(activation.applicationID),
            "flags": Self.list(activation.flags),
            "failedAttempts": .number(JSONNumber(activation.failedAttempts)),
            "maxFailedAttempts": .number(JSONNumber(activation.maximumFailedAttempts)),
            "timestampCreated": .number(JSONNumber(activation.created)),
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
        object["protocolVersion"] = activation.device.map { .string($0.version.rawValue) }
        object["activationFingerprint"] = activation.fingerprint.map { .string($0) }
        object["blockedReason"] = activation.blockedReason.map { .string($0) }
        if let device = self.state.devices[activation.id] {
            var push: JSONObject = ["platform": .string(device.platform), "token": .string(device.token)]
            push["environment"] = device.environment.map { .string($0) }
            push["timestampRegistered"] = .number(JSONNumber(device.registered))
            object["push"] = .object(push)
        }
        return object
    }

    static func list(_ texts: [String]) -> JSONValue {
        .array(texts.map { .string($0) })
    }
}
