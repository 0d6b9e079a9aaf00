import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The transfer of an activation to another application of the user's: the device asks for an activation code for it.
enum ActivationTransfer {
    static let routes: [Backend.Route] = [
        .device(
            "POST",
            "/api/activation/code",
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
        let code = CodeDemand(uriID: "/api/activation/code", types: .twoFactors)
        let call = try bank.receive(&context, AnnotatedDemand(proof: .code(code), members: ["requestObject"]))
        guard let source = call.activation, let version = source.device?.version,
            let request = try call.content?.optionalObject("requestObject")
        else { throw .invalidRequest("The request object is missing") }
        let (applicationID, otp) = (try request.string("applicationId"), try request.string("otp"))
        guard let application = bank.state.applications[applicationID] else {
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
        Refusal(400, "ACTIVATION_CODE_FAILED", "The activation code was not made", because: reason)
    }
}
