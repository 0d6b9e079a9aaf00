import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// Approval without a network: the QR code, and the returned code.
enum OfflineEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.makeOfflineCode, Self.qrCode), .cloud(CloudAPI.verifyOfflineCode, Self.verify),
    ]

    /// Returns the content of a QR code with which a device without a network approves an operation.
    private static func qrCode(
        _ bank: inout Backend,
        _ input: (String, CloudAPI.OfflineSigner),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.OfflineCode {
        let (id, signer) = input
        let operation = try bank.operation(id, &context)
        guard operation.status == .pending else { throw .operationStateChange(operation.status) }
        _ = try Self.offlineTypes(of: operation)
        if let objection = OfflineText.objection(toData: operation.data) {
            throw .invalidRequest("The operation cannot be approved offline: \(objection)")
        }
        let sign = try Self.offlineSignature(bank, for: operation, signer, &context)
        let language = context.request.header("Accept-Language") ?? operation.language
        let reader = OperationReader(locale: ReaderLocale(acceptLanguage: language), profile: bank.profile)
        guard let (formData, ui) = try bank.operationTemplates.content(of: operation, for: reader) else {
            throw .templateNotFound
        }
        let nonce = Base64.encode(bank.state.randomness.bytes(16))
        var lines = [
            operation.id,
            OfflineText.escaped(formData["title"]?.string ?? ""),
            OfflineText.escaped(formData["message"]?.string ?? ""),
            operation.data,
            Self.flags(of: operation, ui: ui),
        ]
        if let code = bank.proximityCode(of: operation) { lines.append(code.string(at: context.now)) }
        lines.append(nonce)
        let content = lines.joined(separator: "\n") + "\n"
        do {
            let signature = try sign(content)
            context.inspection.note(.offlineCodeMade, operation.id)
            return CloudClient.OfflineCode(content: content + signature, nonce: nonce)
        } catch {
            throw .invalidRequest("The code cannot be signed")
        }
    }

    /// Signs with the activation's keys for one device, or with the application's master key for any.
    private static func offlineSignature(
        _ bank: Backend,
        for operation: ServerOperation,
        _ signer: CloudAPI.OfflineSigner,
        _ context: inout RequestContext
    ) throws(Refusal) -> (String) throws -> String {
        guard let id = signer.registrationID else {
            guard let application = bank.state.applications[operation.applicationID] else {
                throw .unknownApplication("appId", operation.applicationID)
            }
            let version = try bank.majorVersion(named: signer.protocolVersion)
            return { "0" + Base64.encode(try application.masterSignature(of: Array("\($0)0".utf8), version)) }
        }
        let activation = try Self.offlineActivation(bank, id, operation, &context)
        guard activation.status == .active, let device = activation.device else {
            throw .registration("The registration is not active")
        }
        return { try device.keys.offlineSignature(of: $0) }
    }

    private static func offlineActivation(
        _ bank: Backend,
        _ id: String,
        _ operation: ServerOperation,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation {
        guard let activation = bank.state.activations[id] else {
            throw .unknownRegistration
        }
        context.activationID = id
        guard operation.isVisible(to: activation) else {
            throw .registration("The operation is not for this registration")
        }
        return activation
    }

    /// `B` biometry allowed, `X` buttons flipped, `F` fraud warning, `C` not during a call.
    private static func flags(of operation: ServerOperation, ui: JSONValue?) -> String {
        var flags = ""
        if operation.allowedSignature.allowsBiometry { flags += "B" }
        if ui?["flipButtons"]?.bool == true { flags += "X" }
        if operation.riskFlags.utf8.contains(UInt8(ascii: "F")) { flags += "F" }
        if ui?["blockApprovalOnCall"]?.bool == true { flags += "C" }
        return flags
    }

    /// Verifies the code typed in from the device, and decides the operation accordingly.
    private static func verify(
        _ bank: inout Backend,
        _ input: (String, CloudAPI.TypedOfflineCode),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Verdict {
        let (id, offline) = input
        let operation = try bank.operation(id, &context)
        let code = offline.code
        let activation = try Self.offlineActivation(bank, offline.registrationID, operation, &context)
        guard Self.isOfflineCode(code) else { throw .malformedOfflineCode }
        guard let nonce = Base64.decode(offline.nonce), nonce.count == 16 else {
            throw .invalid("nonce", "is not 16 bytes in Base64", value: .string(offline.nonce))
        }
        guard operation.status == .pending else { throw .operationStateChange(operation.status) }
        let allowed = try Self.offlineTypes(of: operation)
        let steps = activation.device?.keys.steps
        (context.counterBefore, context.counterAfter) = (steps, steps)
        guard activation.status == .active, let version = activation.device?.version else {
            return bank.verdict(activation, allowed[0], isValid: false)
        }
        var diagnosis: (code: CodeToVerify, found: CodeDiagnosis)?
        for type in allowed {
            let codes = Self.codes(bank, code, type, nonce, operation, at: context.now)
            guard let (accepted, right) = Self.accepted(codes, activation, version, bank.limits) else {
                for code in codes where diagnosis?.found.nearest == nil {
                    let found = activation.diagnosis(of: code, version, lookAhead: bank.limits.lookAhead)
                    diagnosis = found.map { (code, $0) } ?? diagnosis
                }
                continue
            }
            bank.keep(accepted, &context, version)
            context.inspect(right, of: activation, version)
            context.inspection.note(.approved, operation.id)
            bank.state.operations.claim(operation.id, for: activation.userID)
            let trace = DecisionTrace(offlineBy: activation, type)
            bank.update(operation.id, &context) { $0.approve(trace, at: $1) }
            context.report(accepted)
            return bank.verdict(accepted, type, isValid: true)
        }
        let type = allowed[0]
        if let diagnosis { context.inspect(diagnosis.code, of: activation, version, diagnosis.found) }
        let reason = diagnosis?.found.reason ?? "the offline code is wrong"
        _ = bank.countFailure(activation.id, type, reason, &context)
        context.inspection.note(.approvalRefused, operation.id, because: reason)
        bank.update(operation.id, &context) { $0.countFailure(DecisionTrace(), at: $1) }
        let counted = bank.state.activations[activation.id] ?? activation
        return bank.verdict(counted, type, isValid: false)
    }

    /// Returns the allowed factors of an offline code, at least one set: possession alone shows only a copy of the QR code.
    private static func offlineTypes(of operation: ServerOperation) throws(Refusal) -> [SignatureType] {
        let types = operation.allowedSignature.variants.filter { $0.factors.count > 1 }
        guard !types.isEmpty else { throw .invalidRequest("The operation cannot be approved offline") }
        return types
    }

    /// Returns a code with its possible data. They include a rotating code of the QR code: the current and the previous one are
    /// tried.
    private static func codes(
        _ bank: Backend,
        _ code: String,
        _ type: SignatureType,
        _ nonce: [UInt8],
        _ operation: ServerOperation,
        at now: Milliseconds
    ) -> [CodeToVerify] {
        let body = "\(operation.id)&\(operation.data)"
        let bodies = bank.proximityCode(of: operation)?.accepted(at: now).map { "\(body)&\($0)" } ?? [body]
        return bodies.map { body in
            let data = SignatureData(
                method: "POST",
                uriID: "/operation/authorize/offline",
                nonce: nonce,
                body: Array(body.utf8)
            )
            return CodeToVerify(form: .offline(code, digits: bank.limits.offlineCodeDigits), type: type, data: data)
        }
    }

    /// Returns the first valid code, and the activation after it, if there is one.
    private static func accepted(
        _ codes: [CodeToVerify],
        _ activation: ServerActivation,
        _ version: MajorVersion,
        _ limits: EmulatorLimits
    ) -> (activation: ServerActivation, code: CodeToVerify)? {
        for code in codes {
            var verified = activation
            if case .accepted = verified.verify(code, of: version, lookAhead: limits.lookAhead) {
                return (verified, code)
            }
        }
        return nil
    }

    /// Indicates whether a string has the form of a code: groups of digits separated by dashes.
    private static func isOfflineCode(_ code: String) -> Bool {
        let groups = code.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.allSatisfy { group in
            !group.isEmpty && group.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
    }
}
