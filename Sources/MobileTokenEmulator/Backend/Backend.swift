internal import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

/// All state of the development server, as a value, and the rules it changes by.
///
/// Each request is one call of ``reply(to:at:)``. A handler first decides and then applies: what it throws leaves the
/// state as it was, except for what a failure counts and what a right signature moved. Time and randomness come from
/// outside, so tests need neither clock nor socket.
struct Backend: Sendable {
    var state: BackendState
    let operationTemplates: [String: OperationTemplate]
    let limits: Emulator.Limits
    let capacity: Emulator.Capacity
    private let applicationName: String
    private let cloudCredentials: [UInt8]?

    /// - Throws: ``TemplateError`` when a template of the configuration cannot be used.
    init(configuration: Emulator.Configuration, randomness: Randomness) throws {
        var randomness = randomness
        let application = try ServerApplication(id: configuration.applicationID, randomness: &randomness)
        var state = BackendState(application: application, randomness: randomness)
        _ = state.takeChanges()  // a state that is new is written whole
        try self.init(state: state, configuration)
    }

    init(state: BackendState, _ configuration: Emulator.Configuration) throws(TemplateError) {
        self.state = state
        self.limits = configuration.limits
        self.capacity = configuration.capacity
        self.applicationName = configuration.applicationName
        self.cloudCredentials = configuration.cloudPassword.map { Array("\(configuration.cloudUser):\($0)".utf8) }
        var templates: [String: OperationTemplate] = [:]
        for text in OperationTemplate.builtIn + configuration.templates {
            let template = try OperationTemplate(parsing: text)
            templates[template.name] = template
        }
        self.operationTemplates = templates
    }

    /// Answers `/pa/v3`, `/api` and `/v2`. Anything else is 404 in the API's error shape.
    mutating func reply(to request: ReceivedRequest, at now: Date) -> Reply {
        var call = Call(request, at: now.milliseconds)
        call.events = self.settle(at: now)
        do {
            let answer = try self.answer(&call)
            return Reply(answer, call)
        } catch {
            return Reply(error, call)
        }
    }

    private mutating func answer(_ call: inout Call) throws(BackendRefusal) -> Answer {
        let endpoint: Endpoint
        switch Endpoint.match(method: call.request.method, path: call.request.path) {
        case .endpoint(let found, let arguments): (endpoint, call.pathArguments) = (found, arguments)
        case .wrongMethod(let allowed): throw .wrongMethod(allowed: allowed)
        case .none: throw .notFound
        }
        if endpoint.isControl { try self.checkCloudCredentials(of: call.request) }
        try Self.checkContentType(of: call.request)
        let added = try self.room(for: endpoint, call)
        let answer = try self.perform(endpoint, &call)
        self.state.storedBytes += added
        return answer
    }

    private mutating func perform(_ endpoint: Endpoint, _ call: inout Call) throws(BackendRefusal) -> Answer {
        switch endpoint {
        case .serverStatus: try self.serverStatus(call)
        case .createTemporaryKey: try self.createTemporaryKey(&call)
        case .createActivation: try self.createActivation(&call)
        case .activationStatus: try self.activationStatus(&call)
        case .removeActivation: try self.removeActivation(&call)
        case .createToken: try self.createToken(&call)
        case .removeToken: try self.removeToken(&call)
        case .unlockVault: try self.unlockVault(&call)
        case .validateSignature: try self.validateSignature(&call)
        case .userInfo: try self.userInfo(&call)
        case .confirmRecovery: try self.confirmRecovery(&call)
        case .listOperations: try self.listOperations(&call)
        case .operationDetail: try self.operationDetail(&call)
        case .claimOperation: try self.claimOperation(&call)
        case .operationHistory: try self.operationHistory(&call)
        case .authorizeOperation: try self.authorizeOperation(&call)
        case .rejectOperation: try self.rejectOperation(&call)
        case .registerDevice: try self.registerDevice(&call)
        case .registerSignedDevice: try self.registerSignedDevice(&call)
        case .countMessages: try self.countMessages(&call)
        case .listMessages: try self.listMessages(&call)
        case .messageDetail: try self.messageDetail(&call)
        case .markMessageRead: try self.markMessageRead(&call)
        case .markAllMessagesRead: try self.markAllMessagesRead(&call)
        case .createRegistration: try self.createRegistration(&call)
        case .listRegistrations: try self.listRegistrations(&call)
        case .registration: try self.registration(&call)
        case .changeRegistration: try self.changeRegistration(&call)
        case .removeRegistration: try self.removeRegistration(&call)
        case .commitRegistration: try self.commitRegistration(&call)
        case .registrationFlags: try self.registrationFlags(&call)
        case .addRegistrationFlags: try self.addRegistrationFlags(&call)
        case .removeRegistrationFlags: try self.removeRegistrationFlags(&call)
        case .createOperation: try self.createOperation(&call)
        case .listAllOperations: try self.listAllOperations(&call)
        case .operation: try self.operation(&call)
        case .cancelOperation: try self.cancelOperation(&call)
        case .offlineQRCode: try self.offlineQRCode(&call)
        case .verifyOfflineCode: try self.verifyOfflineCode(&call)
        case .createMessage: try self.createMessage(&call)
        case .createApplication: try self.createApplication(&call)
        case .listApplications: self.listApplications(call)
        case .application: try self.application(call)
        }
    }

    private func serverStatus(_ call: Call) throws(BackendRefusal) -> Answer {
        _ = try call.json()
        return .object([
            "serverTime": .number(JSONNumber(call.now)),
            "application": ["name": .string(self.applicationName), "version": "1.0.0"],
        ])
    }

    private func checkCloudCredentials(of request: ReceivedRequest) throws(BackendRefusal) {
        let words = (request.header("Authorization") ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].caseInsensitiveEquals("Basic"), let given = Base64.decode(String(words[1])),
            let expected = self.cloudCredentials, constantTimeEquals(given, expected)
        else { throw .wrongCloudCredentials }
    }

    private static func checkContentType(of request: ReceivedRequest) throws(BackendRefusal) {
        guard request.method == "POST" || request.method == "PUT" else { return }
        guard let value = request.header("Content-Type") else {
            guard request.body.isEmpty else { throw .wrongContentType }
            return
        }
        let type = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        guard type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json") else {
            throw .wrongContentType
        }
    }

    // MARK: - Time

    /// Does what has become due by `now` without any request: operations and activation codes that expire.
    mutating func settle(at now: Date) -> [BackendEvent] {
        var call = Call(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        for operation in self.state.operations.expire(at: call.now) { call.report(operation) }
        self.expireActivations(&call)
        return call.events
    }

    /// When ``settle(at:)`` will next have something to do.
    var nextDeadline: Date? {
        let deadlines = [self.state.operations.nextExpiration, self.state.nextActivationExpiration].compactMap(\.self)
        return deadlines.min().map(Date.init(milliseconds:))
    }

    // MARK: - Applications

    var defaultApplicationID: String { self.state.defaultApplicationID }

    func application(ofKey key: String) -> ServerApplication? {
        // There are a handful.
        self.state.applications.values.first { $0.key == key }
    }
}

extension Reply {
    fileprivate init(_ answer: Answer, _ call: Call) {
        self.init(status: answer.status, body: answer.body.serialized())
        self.describe(call)
    }

    fileprivate init(_ refusal: BackendRefusal, _ call: Call) {
        var details: JSONObject = ["code": .string(refusal.code), "message": .string(refusal.message)]
        details.members += refusal.details.members
        let body: JSONValue = ["status": "ERROR", "responseObject": .object(details)]
        self.init(status: refusal.status, body: body.serialized(), verdict: .refused(reason: refusal.reason))
        self.headers += refusal.headers
        self.describe(call)
    }

    private mutating func describe(_ call: Call) {
        self.activationID = call.activationID
        self.counterBefore = call.counterBefore
        self.counterAfter = call.counterAfter
        self.events = call.events
    }
}
