import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The endpoints for a device's own activation, annotated in both versions of the protocol.
enum OwnActivationEndpoints {
    static let routes: [Backend.Route] = MajorVersion.allCases.flatMap { version in
        [
            Self.route(version, "activation/rename", adds: .contents, "Renames an activation.", shows: .code) {
                (bank, context) throws(Refusal) in try Self.rename(version, &bank, &context)
            },
            Self.route(
                version,
                "activation/detail",
                "Shows an activation to its device, with a token of two factors and the encryption header.",
                shows: .token
            ) { (bank, context) throws(Refusal) in try Self.detail(version, &bank, &context) },
            Self.route(version, "user/info", "Tells what is known of the user.") { (bank, context) throws(Refusal) in
                try Self.userInfo(version, &bank, &context)
            },
        ]
    }

    private static func route(
        _ version: MajorVersion,
        _ path: String,
        adds addition: Backend.Addition = .nothing,
        _ summary: String,
        shows access: RouteDescription.Access = .open,
        _ perform: @escaping Backend.Route.Handler
    ) -> Backend.Route {
        .device(
            "POST /pa/v\(version.rawValue)/\(path)",
            adds: addition,
            summary,
            shows: access,
            takes: .required(version == .version3 ? .envelope3 : .envelope4),
            gives: version == .version3 ? .sealed3 : .sealed4,
            perform
        )
    }

    private static func rename(
        _ version: MajorVersion,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let code = SignaturePolicy(uriID: "/pa/activation/rename", types: .twoFactors, version: version)
        let canRename = version != .version3 || bank.profile.renamesVersion3
        let demand = ApplicationEndpointPolicy(proof: .code(code), members: canRename ? ["activationName"] : nil)
        let outcome = Result { () throws(Refusal) in try bank.receive(&context, demand) }
        // Older servers look for the name in the encrypted body, where it cannot be.
        if !canRename { _ = try context.json().optionalString("activationName") }
        let call = try outcome.get()
        guard canRename else {
            throw .activation("this release cannot rename\(bank.profile.releases { $0.renamesVersion3 })")
        }
        guard let name = Self.name(in: call.content) else {
            throw .authentication("'activationName' is missing or blank")
        }
        guard let activation = call.activation else { throw .authentication("no activation is named") }
        bank.state.activations.update(activation.id) { $0.rename(name) }
        let renamed = bank.state.activations[activation.id] ?? activation
        context.report(renamed)
        return try bank.respond(Self.presented(renamed), to: call, &context)
    }

    private static func name(in content: JSONObject?) -> String? {
        guard let name = try? content?.optionalString("activationName"), !name.isBlank else { return nil }
        return name
    }

    private static func detail(
        _ version: MajorVersion,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let call = try bank.receive(&context, ApplicationEndpointPolicy(proof: .token(.twoFactors), version: version))
        guard let activation = call.activation else { throw .authentication("no activation is named") }
        return try bank.respond(Self.presented(activation), to: call, &context)
    }

    private static func presented(_ activation: ServerActivation) -> JSONValue {
        .wrapped([
            "activationId": .string(activation.id), "activationName": activation.name.map { .string($0) } ?? .null,
        ])
    }

    private static func userInfo(
        _ version: MajorVersion,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let demand = ApplicationEndpointPolicy(
            proof: .envelope(refusal: Refusal.encryption),
            version: version,
            members: []
        )
        let call = try bank.receive(&context, demand)
        guard let activation = call.activation else { throw .encryption("the activation is missing") }
        return try bank.respond(bank.claims(about: activation, at: context.now), to: call, &context)
    }
}

extension SignaturePolicy {
    /// Checks the special rules of removal: it may be allowed with possession only, and requires its header.
    mutating func admitRemoval(_ bank: Backend, _ context: RequestContext) throws(Refusal) {
        guard context.request.header(RequestCode.headerName) != nil else {
            throw .unreadable("the header \(RequestCode.headerName) is missing")
        }
        guard bank.profile.canAllowRemovalByPossession, bank.protocolRules.allowsRemovalByPossession else { return }
        self.types.insert(.possession)
    }
}
