import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Registrations, for the bank: each is an activation, from the code that is handed out to its end.
enum RegistrationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(
            "GET",
            "/v2/registrations",
            of: .powerAuthCloud,
            "Lists registrations.",
            asks: [.userID, .removed],
            gives: .registrations,
            Self.list
        ),
        .cloud(
            "POST",
            "/v2/registrations",
            of: .powerAuthCloud,
            adds: .registration,
            "Registers a device for a user.",
            asks: [.incompleteStatusCheck],
            takes: .required(.newRegistration),
            gives: .registration,
            Self.create
        ),
        .cloud(
            "DELETE",
            "/v2/registrations/{id}",
            of: .powerAuthCloud,
            "Removes a registration.",
            gives: .changedRegistration,
            Self.remove
        ),
        .cloud(
            "GET",
            "/v2/registrations/{id}",
            of: .powerAuthCloud,
            "Shows a registration.",
            gives: .registration,
            Self.show
        ),
        .cloud(
            "PUT",
            "/v2/registrations/{id}",
            of: .powerAuthCloud,
            "Blocks or unblocks a registration.",
            takes: .required(.registrationChange),
            gives: .changedRegistration,
            Self.change
        ),
        .cloud(
            "POST",
            "/v2/registrations/{id}/commit",
            of: .powerAuthCloud,
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
        let application = try bank.application(namedIn: request)
        let otp = try Self.activationOTP(in: request)
        let commitPhase = try Self.commitPhase(in: request)
        guard commitPhase != .onKeyExchange || otp?.stage != .commit else {
            throw .invalid("otpValidation", "asks for a code at a commit that there will not be")
        }
        let version = try bank.majorVersion(named: request.optionalString("protocolVersion"))
        let expires = try Self.expiration(of: request, bank.limits, context.now)
        try Self.checkProgress(bank, userID, application, context.request)
        let registration: ServerActivation
        do {
            let code = try Self.freshActivationCode(&bank)
            let signature = try application.masterSignature(of: Array(code.utf8), version)
            registration = ServerActivation(
                id: bank.state.randomness.identifier(),
                userID: userID,
                applicationID: application.id,
                flags: flags,
                offer: .init(code: code, signature: Base64.encode(signature), expires: expires),
                otp: otp,
                commitPhase: commitPhase,
                maximumFailedAttempts: bank.limits.failedAttempts,
                created: context.now
            )
        } catch {
            throw .registration("The activation code cannot be signed")
        }
        bank.add(registration)
        context.activationID = registration.id
        context.report(registration)
        return .json(.object(bank.presented(registration)))
    }

    /// When the activation code ends.
    private static func expiration(
        of request: JSONObject,
        _ limits: EmulatorLimits,
        _ now: Milliseconds
    ) throws(Refusal) -> Milliseconds {
        try request.optionalTime("timestampRegistrationExpire", after: now)
            ?? now + limits.activationCodeLifetime.inMilliseconds
    }

    /// Throws when the request asks whether another registration of the user is in progress, and one is.
    private static func checkProgress(
        _ bank: Backend,
        _ userID: String,
        _ application: ServerApplication,
        _ request: ReceivedRequest
    ) throws(Refusal) {
        guard try request.flag("incompleteStatusCheck") else { return }
        let isInProgress = bank.state.activations.newestFirst.contains { activation in
            (activation.status == .created || activation.status == .pendingCommit)
                && activation.userID.isExactly(userID) && activation.applicationID.isExactly(application.id)
        }
        if isInProgress { throw .registrationInProgress }
    }

    static func freshActivationCode(_ bank: inout Backend) throws(CryptoError) -> String {
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
        let value = try request.optionalString("otp", or: "activationOtp")
        let validation = try request.optionalString("otpValidation", or: "activationOtpValidation")
        let stage: ActivationOTP.Stage
        switch validation {
        case "ON_KEY_EXCHANGE": stage = .keyExchange
        case "ON_COMMIT": stage = .commit
        case nil where value != nil: stage = .commit
        case nil, "NONE"?:
            guard value == nil else { throw .invalid("otpValidation", "is NONE, and a code was given") }
            return nil
        default: throw .invalid("otpValidation", "is none of NONE, ON_KEY_EXCHANGE and ON_COMMIT")
        }
        guard let value, !value.isEmpty else { throw .invalid("otp", "is missing") }
        return ActivationOTP(value: value, stage: stage)
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let userID = context.request.queryValue("userId")
        let showsRemoved = try context.request.flag("removed")
        let listed = bank.state.activations.newestFirst.lazy
            .filter { activation in userID.map { activation.userID.isExactly($0) } ?? true }
            .filter { showsRemoved || $0.status != .removed }
            .prefix(1_000)
        return .json(["registrations": .array(listed.map { .object(bank.presented($0)) })])
    }

    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        .json(.object(bank.presented(try Self.addressedRegistration(bank, &context))))
    }

    static func commit(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var activation = try Self.addressedRegistration(bank, &context)
        let request = try context.json()
        let externalUserID = try request.optionalString("externalUserId")
        let otp = try request.optionalString("otp", or: "activationOtp")
        do {
            try activation.commit(externalUserID: externalUserID, otp: otp)
        } catch {
            // A wrong code is counted, and the last one removes the activation.
            Self.keep(&bank, activation, &context)
            throw .registrationChange("The registration cannot be committed", because: error.reason)
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
            default: throw Refusal.invalid("change", "is neither BLOCK nor UNBLOCK", value: .string(change))
            }
        } catch let error as ActivationStateError {
            throw .registrationChange("The registration's state forbids it", because: error.reason)
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
            throw .registrationChange("The registration is already removed")
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
            throw .unknownRegistration
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
}

extension JSONValue {
    /// Creates a list of strings.
    static func strings(_ strings: [String]) -> Self { .array(strings.map { .string($0) }) }
}
