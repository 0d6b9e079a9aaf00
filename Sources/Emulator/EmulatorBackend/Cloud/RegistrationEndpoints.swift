import Basics
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// Registrations, for the bank: each is an activation, from its code to its end.
enum RegistrationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.listRegistrations, Self.list),
        .cloud(CloudAPI.register, adds: .registration, Self.create),
        .cloud(CloudAPI.removeRegistration, Self.remove),
        .cloud(CloudAPI.showRegistration) { (bank, id, context) throws(Refusal) in
            CloudClient.Registration(bank, try bank.registration(id, &context))
        },
        .cloud(CloudAPI.changeRegistration, Self.change),
        .cloud(CloudAPI.commitRegistration, adds: .contents, Self.commit),
        .cloud(CloudAPI.removeFlags, Self.removeFlags),
        .cloud(CloudAPI.showFlags) { (bank, id, context) throws(Refusal) in
            CloudAPI.RegistrationFlags(try Self.flagged(bank, id, &context))
        },
        .cloud(CloudAPI.addFlags, Self.addFlags),
    ]

    private static func create(
        _ bank: inout Backend,
        _ input: (refusesOthersInProgress: Bool, CloudClient.NewRegistration),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Registration {
        let (refusesOthersInProgress, request) = input
        let flags = request.flags
        try bank.requireRoom(forFlags: flags)
        let application = try bank.application(named: request.applicationID)
        let otp = try Self.activationOTP(in: request)
        guard request.commitPhase != .onKeyExchange || otp?.stage != .commit else {
            throw .invalid("otpValidation", "asks for a code at a commit that there will not be", value: "ON_COMMIT")
        }
        let version = try bank.majorVersion(named: request.protocolVersion)
        let expires =
            try request.expiresMilliseconds?.checked(as: "timestampRegistrationExpire", after: context.now)
            ?? context.now + bank.limits.activationCodeLifetime.inMilliseconds
        if refusesOthersInProgress {
            try Self.refuseProgress(bank, of: request.userID, application)
        }
        let registration: ServerActivation
        do {
            let code = try Self.freshActivationCode(&bank)
            let signature = try application.masterSignature(of: Array(code.utf8), version)
            registration = ServerActivation(
                id: bank.state.randomness.identifier(),
                userID: request.userID,
                applicationID: application.id,
                flags: flags,
                offer: .init(code: code, signature: Base64.encode(signature), expires: expires),
                otp: otp,
                commitPhase: request.commitPhase,
                maximumFailedAttempts: bank.limits.failedAttempts,
                created: context.now
            )
        } catch {
            throw .registration("The activation code cannot be signed")
        }
        bank.add(registration)
        context.activationID = registration.id
        context.report(registration)
        return CloudClient.Registration(bank, registration)
    }

    /// Throws if another registration of the user is in progress.
    private static func refuseProgress(
        _ bank: Backend,
        of userID: String,
        _ application: ServerApplication
    ) throws(Refusal) {
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

    /// Returns a request's activation OTP, checked at the key exchange or at the server's commit.
    private static func activationOTP(in request: CloudClient.NewRegistration) throws(Refusal) -> ActivationOTP? {
        let value = request.otp ?? request.activationOTP
        let stage: ActivationOTP.Stage
        switch request.otpValidation ?? request.activationOTPValidation {
        case .onKeyExchange: stage = .keyExchange
        case .onCommit: stage = .commit
        case nil where value != nil: stage = .commit
        case nil, .some(.none):
            guard value == nil else {
                throw .invalid("otpValidation", "is NONE, and a code was given", value: "NONE")
            }
            return nil
        }
        guard let value, !value.isEmpty else { throw .invalid("otp", "is missing") }
        return ActivationOTP(value: value, stage: stage)
    }

    private static func list(
        _ bank: inout Backend,
        _ filter: CloudAPI.RegistrationFilter,
        _ context: inout RequestContext
    ) -> [CloudClient.Registration] {
        let listed = bank.state.activations.newestFirst.lazy
            .filter { activation in filter.userID.map { activation.userID.isExactly($0) } ?? true }
            .filter { filter.showsRemoved || $0.status != .removed }
            .prefix(1_000)
        return listed.map { [bank] in CloudClient.Registration(bank, $0) }
    }

    private static func commit(
        _ bank: inout Backend,
        _ input: (String, CloudAPI.RegistrationCommit),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.ChangedRegistration {
        let (id, commit) = input
        var activation = try bank.registration(id, &context)
        do {
            try activation.commit(externalUserID: commit.externalUserID, otp: commit.otp ?? commit.activationOTP)
        } catch {
            // A wrong code is counted, and the last one removes the activation.
            Self.keep(&bank, activation, &context)
            throw .registrationChange(error.message, because: error.reason)
        }
        bank.activateRecoveryCodes(of: activation.id)
        Self.keep(&bank, activation, &context)
        return CloudAPI.ChangedRegistration(activation)
    }

    private static func change(
        _ bank: inout Backend,
        _ input: (String, CloudAPI.RegistrationChange),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.ChangedRegistration {
        let (id, change) = input
        var activation = try bank.registration(id, &context)
        do {
            switch change {
            case .block: try activation.block(reason: "NOT_SPECIFIED")
            case .unblock: try activation.unblock()
            }
        } catch {
            throw .registrationChange(error.message, because: error.reason)
        }
        Self.keep(&bank, activation, &context)
        return CloudAPI.ChangedRegistration(activation)
    }

    private static func remove(
        _ bank: inout Backend,
        _ id: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.ChangedRegistration {
        let activation = try bank.registration(id, &context)
        if activation.status != .removed { bank.remove(activation.id, &context) }
        return CloudAPI.ChangedRegistration(bank.state.activations[activation.id] ?? activation)
    }

    private static func addFlags(
        _ bank: inout Backend,
        _ input: (String, flags: [String]?),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.RegistrationFlags {
        let (id, flags) = input
        var activation = try Self.flagged(bank, id, &context)
        for flag in flags ?? [] where !activation.flags.contains(flag) { activation.flags.append(flag) }
        try bank.requireRoom(forFlags: activation.flags)
        Self.keep(&bank, activation, &context)
        return CloudAPI.RegistrationFlags(activation)
    }

    private static func removeFlags(
        _ bank: inout Backend,
        _ input: (String, flags: [String]?),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.RegistrationFlags {
        let (id, flags) = input
        var activation = try Self.flagged(bank, id, &context)
        // A DELETE without a body removes all.
        let removed = context.request.body.isEmpty ? activation.flags : flags ?? []
        activation.flags.removeAll(where: removed.contains)
        Self.keep(&bank, activation, &context)
        return CloudAPI.RegistrationFlags(activation)
    }

    /// Returns the registration for a call that real servers lack; like all of these, it responds with 404.
    private static func flagged(
        _ bank: Backend,
        _ id: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation {
        do { return try bank.registration(id, &context) } catch {
            throw Refusal(404, "ERROR_NOT_FOUND", error.message)
        }
    }

    private static func keep(_ bank: inout Backend, _ activation: ServerActivation, _ context: inout RequestContext) {
        bank.state.activations[activation.id] = activation
        if let deadline = activation.deadline { bank.watch(deadline) }
        context.report(activation)
    }
}

extension Backend {
    /// Returns the registration of a call, and mentions it in the journal.
    func registration(_ id: String, _ context: inout RequestContext) throws(Refusal) -> ServerActivation {
        guard let activation = self.state.activations[id] else { throw .unknownRegistration }
        context.activationID = id
        return activation
    }
}

extension CloudAPI.ChangedRegistration {
    fileprivate init(_ activation: ServerActivation) {
        self.init(id: activation.id, status: .init(rawValue: activation.status.rawValue))
    }
}

extension CloudAPI.RegistrationFlags {
    fileprivate init(_ activation: ServerActivation) { self.init(id: activation.id, flags: activation.flags) }
}

extension JSONValue {
    static func strings(_ strings: [String]) -> Self { .array(strings.map { .string($0) }) }
}
