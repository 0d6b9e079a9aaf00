internal import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

// MARK: - What an administrator may do

extension Backend {
    mutating func administer(
        _ change: AdministrativeChange,
        at now: Date
    ) throws(AdministrationError) -> [BackendEvent] {
        var call = Call(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        do {
            switch change {
            case .block(let id):
                try self.change(id, &call) { (activation) throws(ActivationStateError) in
                    try activation.block(reason: "NOT_SPECIFIED")
                }
            case .unblock(let id):
                try self.change(id, &call) { (activation) throws(ActivationStateError) in try activation.unblock() }
            case .advanceCounter(let id, let steps):
                // A client is lost after 20; more would only keep the server busy.
                guard let steps = Int(exactly: steps), steps <= 100_000 else {
                    throw AdministrationError(code: .wrongState, message: "The counter moves by 100 000 steps at most")
                }
                try self.change(id, &call) { (activation) throws(ActivationStateError) in
                    try activation.advanceCounter(by: steps)
                }
            case .remove(let id):
                guard let activation = self.state.activations[id] else { throw AdministrationError.unknownActivation }
                guard activation.status != .removed else {
                    throw AdministrationError(code: .wrongState, message: "The activation is already removed")
                }
                self.remove(id, &call)
            }
        } catch let error as ActivationStateError {
            throw AdministrationError(code: .wrongState, message: "The change is not possible: \(error.reason)")
        } catch let error as AdministrationError {
            throw error
        } catch {
            throw AdministrationError(code: .wrongState, message: "The change is not possible")
        }
        return call.events
    }

    private mutating func change(
        _ id: String,
        _ call: inout Call,
        _ change: (inout ServerActivation) throws(ActivationStateError) -> Void
    ) throws {
        guard var activation = self.state.activations[id] else { throw AdministrationError.unknownActivation }
        try change(&activation)
        self.state.activations[id] = activation
        call.report(activation)
    }
}

extension AdministrationError {
    fileprivate static let unknownActivation = Self(code: .unknownActivation, message: "No such activation")
}

// MARK: - The whole state

extension Backend {
    private struct Document: Codable {
        static let format = "mobile-token-emulator"
        static let version = 1

        var format = Self.format
        var version = Self.version
        var state: BackendState
    }

    /// The whole state, the application's keys included, as one JSON document.
    func exported() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return Array(try encoder.encode(Document(state: self.state)))
    }

    /// A backend with the state of an exported document.
    init(importing document: [UInt8], configuration: Emulator.Configuration) throws(AdministrationError) {
        do {
            let size = document.count
            var document = try JSONDecoder().decode(Document.self, from: Data(document))
            document.state.storedBytes = size
            guard document.format == Document.format, document.version == Document.version,
                document.state.applications[document.state.defaultApplicationID] != nil
            else { throw AdministrationError.invalidDocument }
            try self.init(state: document.state, configuration)
        } catch let error as AdministrationError {
            throw error
        } catch let error as TemplateError {
            throw AdministrationError(code: .invalidDocument, message: error.message)
        } catch {
            throw AdministrationError.invalidDocument
        }
    }
}

extension AdministrationError {
    fileprivate static let invalidDocument = Self(code: .invalidDocument, message: "Not a document of this server")
}

// MARK: - What the console shows

extension Backend {
    /// The application that ``Emulator/sdkConfiguration`` describes.
    var defaultApplication: ApplicationDescription {
        guard let application = self.state.applications[self.state.defaultApplicationID] else {
            return ApplicationDescription(
                id: self.state.defaultApplicationID,
                key: "",
                secret: "",
                masterServerPublicKey: ""
            )
        }
        return ApplicationDescription(
            id: application.id,
            key: application.key,
            secret: application.secret.base64,
            masterServerPublicKey: Base64.encode(application.masterKey.publicKey.uncompressed)
        )
    }

    /// Newest first.
    var activations: [Emulator.ActivationSummary] {
        self.state.activations.newestFirst.map { activation in
            Emulator.ActivationSummary(
                id: activation.id,
                userID: activation.userID,
                applicationID: activation.applicationID,
                name: activation.name,
                status: activation.status.rawValue,
                version: activation.device?.version.rawValue,
                counter: activation.device?.steps ?? 0,
                failedAttempts: activation.failedAttempts,
                maximumFailedAttempts: activation.maximumFailedAttempts,
                activationQRCode: activation.status == .created ? activation.offer?.qrCode : nil,
                created: Date(milliseconds: activation.created),
                push: self.state.devices[activation.id].map { device in
                    Emulator.PushRegistration(
                        platform: device.platform,
                        token: device.token,
                        environment: device.environment,
                        registered: Date(milliseconds: device.registered)
                    )
                }
            )
        }
    }

    /// Newest first.
    var operations: [Emulator.OperationSummary] {
        self.state.operations.newestFirst.map { operation in
            Emulator.OperationSummary(
                id: operation.id,
                userID: operation.userID,
                name: operation.type,
                title: self.content(of: operation, acceptLanguage: nil)?.formData["title"]?.string ?? operation.type,
                data: operation.data,
                status: operation.status.rawValue,
                statusReason: operation.statusReason,
                failureCount: operation.failures,
                maximumFailureCount: operation.maximumFailures,
                created: Date(milliseconds: operation.created),
                expires: Date(milliseconds: operation.expires)
            )
        }
    }

    /// By name.
    var templates: [Emulator.TemplateSummary] {
        self.operationTemplates.values.sorted { $0.name < $1.name }.map { template in
            let title = template.formData["title"]?.string ?? template.name
            let texts = template.texts[Language.fallback] ?? [:]
            let shown = Placeholders.parts(of: title).map { part in
                switch part {
                case .literal(let text): text
                case .parameter(let name): "${\(name)}"
                case .text(let name): texts[name] ?? name
                }
            }
            return Emulator.TemplateSummary(name: template.name, title: shown.joined(), parameters: template.parameters)
        }
    }
}
