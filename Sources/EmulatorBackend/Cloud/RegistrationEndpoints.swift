import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Registrations, for the bank: each is an activation, from the code that is handed out to its end.
enum RegistrationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/registrations", "Lists registrations.", asks: [.userID], gives: .registrations, Self.list),
        .cloud(
            "POST",
            "/v2/registrations",
            adds: .registration,
            "Registers a device for a user.",
            takes: .required(.newRegistration),
            gives: .registration,
            Self.create
        ),
        .cloud("DELETE", "/v2/registrations/{id}", "Removes a registration.", gives: .changedRegistration, Self.remove),
        .cloud("GET", "/v2/registrations/{id}", "Shows a registration.", gives: .registration, Self.show),
        .cloud(
            "PUT",
            "/v2/registrations/{id}",
            "Blocks or unblocks a registration.",
            takes: .required(.registrationChange),
            gives: .changedRegistration,
            Self.change
        ),
        .cloud(
            "POST",
            "/v2/registrations/{id}/commit",
            adds: .contents,
            "Lets a registration become active.",
            takes: .optional(.registrationCommit),
            gives: .changedRegistration,
            Self.commit
        ),
        .cloud(
            "DELETE",
            "/v2/registrations/{id}/flags",
            "Removes flags; all of them, when none are named.",
            takes: .optional(.flags),
            gives: .registrationFlags,
            Self.removeFlags
        ),
        .cloud("GET", "/v2/registrations/{id}/flags", "Lists flags.", gives: .registrationFlags, Self.flags),
        .cloud(
            "POST",
            "/v2/registrations/{id}/flags",
            "Adds flags.",
            takes: .optional(.flags),
            gives: .registrationFlags,
            refuses: [507],
            Self.addFlags
        ),
    ]

    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let userID = try request.string("userId")
        let flags = try request.strings("flags")
        try bank.requireRoom(forFlags: flags)
        let applicationID = try request.optionalString("appId") ?? bank.defaultApplicationID
        guard let application = bank.state.applications[applicationID] else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        let otp = try Self.activationOTP(in: request)
        let commitPhase = try Self.commitPhase(in: request)
        guard commitPhase != .onKeyExchange || otp?.stage != .commit else {
            throw .invalidRequest("A code is to be checked at a commit that there will not be")
        }
        let version = try bank.majorVersion(named: request.optionalString("protocolVersion"))
        let registration: ServerActivation
        do {
            registration = try Self.add(
                to: &bank,
                userID: userID,
                flags: flags,
                application: application,
                otp: otp,
                commitPhase: commitPhase,
                version,
                context.now
            )
        } catch {
            throw .activation("the activation code cannot be signed")
        }
        context.activationID = registration.id
        context.report(registration)
        return .json(.object(Self.presented(bank, registration)))
    }

    /// Adds a registration that waits for a device.
    private static func add(
        to bank: inout Backend,
        userID: String,
        flags: [String],
        application: ServerApplication,
        otp: ActivationOTP?,
        commitPhase: ServerActivation.CommitPhase?,
        _ version: MajorVersion,
        _ now: Milliseconds
    ) throws(CryptoError) -> ServerActivation {
        let code = try Self.freshActivationCode(&bank)
        let signature = try application.masterSignature(of: Array(code.utf8), version)
        let offer = ServerActivation.Offer(
            code: code,
            signature: Base64.encode(signature),
            expires: now + bank.limits.activationCodeLifetime.inMilliseconds
        )
        let activation = ServerActivation(
            id: bank.state.randomness.identifier(),
            userID: userID,
            applicationID: application.id,
            flags: flags,
            offer: offer,
            otp: otp,
            commitPhase: commitPhase,
            maximumFailedAttempts: bank.limits.failedAttempts,
            created: now
        )
        bank.state.activations[activation.id] = activation
        bank.state.offers[offer.code] = activation.id
        bank.watch(offer.expires)
        return activation
    }

    private static func freshActivationCode(_ bank: inout Backend) throws(CryptoError) -> String {
        while true {
            let randomBytes = bank.state.randomness.bytes(ActivationCode.randomByteCount)
            let code = try ActivationCode(randomBytes: randomBytes).code
            if bank.state.offers[code] == nil { return code }
        }
    }

    private static func commitPhase(in request: JSONObject) throws(Refusal) -> ServerActivation.CommitPhase? {
        guard let name = try request.optionalString("commitPhase") else { return nil }
        return ServerActivation.CommitPhase(rawValue: name)
    }

    /// The activation OTP of a request: checked while keys are exchanged, or when the server side commits.
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

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let userID = context.request.queryValue("userId")
        let listed = bank.state.activations.newestFirst.lazy
            .filter { activation in userID.map { activation.userID.isExactly($0) } ?? true }
            .prefix(1_000)
        return .json(["registrations": .array(listed.map { .object(Self.presented(bank, $0)) })])
    }

    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        .json(.object(Self.presented(bank, try Self.addressedRegistration(bank, &context))))
    }

    static func commit(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try Self.addressedRegistration(bank, &context)
        let request = try context.json()
        let externalUserID = try request.optionalString("externalUserId")
        let otp = try request.optionalString("activationOtp", or: "otp")
        do {
            try activation.commit(externalUserID: externalUserID, otp: otp)
        } catch {
            // A wrong code is counted, and the last one removes the activation.
            Self.keep(&bank, activation, &context)
            throw Refusal(
                400,
                "INVALID_ACTIVATION",
                "The registration cannot be committed",
                because: error.reason
            )
        }
        bank.activateRecoveryCodes(of: activation.id)
        Self.keep(&bank, activation, &context)
        return Self.changed(activation)
    }

    static func change(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try Self.addressedRegistration(bank, &context)
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
        Self.keep(&bank, activation, &context)
        return Self.changed(activation)
    }

    static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try Self.addressedRegistration(bank, &context)
        guard activation.status != .removed else {
            throw Refusal(400, "INVALID_ACTIVATION", "The registration is already removed")
        }
        bank.remove(activation.id, &context)
        return Self.changed(bank.state.activations[activation.id] ?? activation)
    }

    static func flags(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try Self.addressedRegistration(bank, &context)
        return .json(["registrationId": .string(activation.id), "flags": .strings(activation.flags)])
    }

    static func addFlags(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try Self.addressedRegistration(bank, &context)
        for flag in try context.json().strings("flags") where !activation.flags.contains(flag) {
            activation.flags.append(flag)
        }
        try bank.requireRoom(forFlags: activation.flags)
        Self.keep(&bank, activation, &context)
        return .json(["registrationId": .string(activation.id), "flags": .strings(activation.flags)])
    }

    static func removeFlags(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try Self.addressedRegistration(bank, &context)
        // A DELETE may come without a body: then all go.
        let removed = context.request.body.isEmpty ? activation.flags : try context.json().strings("flags")
        activation.flags.removeAll(where: removed.contains)
        Self.keep(&bank, activation, &context)
        return .json(["registrationId": .string(activation.id), "flags": .strings(activation.flags)])
    }

    static func addressedRegistration(_ bank: Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerActivation
    {
        guard let id = context.pathArguments.first, let activation = bank.state.activations[id] else {
            throw Refusal(404, "REGISTRATION_NOT_FOUND", "There is no such registration")
        }
        context.activationID = id
        return activation
    }

    private static func keep(_ bank: inout Backend, _ activation: ServerActivation, _ context: inout RequestContext) {
        bank.state.activations[activation.id] = activation
        if let deadline = activation.deadline { bank.watch(deadline) }
        context.report(activation)
    }

    /// `status` is what callers of the commit look for, `registrationStatus` the name of it elsewhere.
    private static func changed(_ activation: ServerActivation) -> ServerResponse {
        .json([
            "status": "OK",
            "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
        ]
        )
    }

    private static func presented(_ bank: Backend, _ activation: ServerActivation) -> JSONObject {
        var object: JSONObject = [
            "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
            "status": .string(activation.status.rawValue),
            "userId": .string(activation.userID),
            "appId": .string(activation.applicationID),
            "flags": .strings(activation.flags),
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
        object["protocolVersion"] = activation.protocolVersion.map { .string($0) }
        object["algorithm"] = activation.suite.map { .string($0.rawValue) }
        object["activationFingerprint"] = activation.fingerprint.map { .string($0) }
        object["blockedReason"] = activation.blockedReason.map { .string($0) }
        object["timestampBlockExpire"] = activation.blockExpires.map { .number(JSONNumber($0)) }
        if let device = bank.state.devices[activation.id] {
            var push: JSONObject = ["platform": .string(device.platform), "token": .string(device.token)]
            push["environment"] = device.environment.map { .string($0) }
            push["timestampRegistered"] = .number(JSONNumber(device.registered))
            object["push"] = .object(push)
        }
        return object
    }
}

extension JSONValue {
    /// Creates a list of strings.
    static func strings(_ strings: [String]) -> Self { .array(strings.map { .string($0) }) }
}
