import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto

/// The transfer of an activation to another application of the user: the device requests an activation code for it.
enum ActivationTransfer {
    static let routes: [Backend.Route] = [
        .device(
            "POST /api/activation/code",
            adds: .registration,
            "Makes an activation code for another application. The content is signed, then encrypted.",
            shows: .code,
            takes: .required(.open()),
            gives: .open(),
            Self.makeCode
        )
    ]

    private static func makeCode(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let code = SignaturePolicy(uriID: "/api/activation/code", types: .twoFactors)
        let demand = ApplicationEndpointPolicy(
            proof: .code(code),
            members: ["requestObject"],
            wrappedMembers: ["applicationId", "otp"]
        )
        let call = try bank.receive(&context, demand)
        guard let source = call.activation, let version = source.device?.version,
            let request = try call.content?.optionalObject("requestObject")
        else { throw .encryption("the request object is missing") }
        guard bank.protocolRules.transfersActivations else {
            throw Self.failed("no code of the bank makes one here: 'transfersActivations' is off")
        }
        let otp = try request.optionalString("otp") ?? ""
        guard otp.utf8.count >= Self.shortestOTP else {
            throw .invalidRequest("'otp' is shorter than \(Self.shortestOTP) characters")
        }
        guard let application = bank.state.applications[try request.optionalString("applicationId") ?? ""] else {
            throw Self.failed("there is no such application")
        }
        let registration: ServerActivation
        do {
            let code = try RegistrationEndpoints.freshActivationCode(&bank)
            let signature = try application.masterSignature(of: Array(code.utf8), version)
            let expires = context.now + bank.limits.activationCodeLifetime.inMilliseconds
            registration = ServerActivation(
                id: bank.state.randomness.identifier(),
                userID: source.userID,
                applicationID: application.id,
                offer: .init(code: code, signature: Base64.encode(signature), expires: expires),
                otp: ActivationOTP(value: otp, stage: .keyExchange),
                maximumFailedAttempts: bank.limits.failedAttempts,
                created: context.now
            )
        } catch {
            throw Self.failed("the activation code cannot be signed")
        }
        bank.add(registration)
        context.report(registration)
        let content: JSONValue = [
            "activationId": .string(registration.id),
            "activationCode": .string(registration.offer?.code ?? ""),
            "activationSignature": .string(registration.offer?.signature ?? ""),
        ]
        return try bank.respond(.wrapped(content), to: call, &context)
    }

    private static func failed(_ reason: String) -> Refusal {
        Refusal(400, "ACTIVATION_CODE_FAILED", "Unable to fetch activation code.", because: reason)
    }

    /// The limit of real servers.
    private static var shortestOTP: Int { 16 }
}
