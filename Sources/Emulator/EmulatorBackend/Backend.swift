import APIDescriptions
import Basics
package import EmulatorMessages
import ExactJSON
package import Foundation
import MobileTokenCloud

/// The development server's state, as a value, with the rules of its changes.
///
/// Each request is one call of ``reply(to:at:)``. A handler first decides and then applies. If it throws, the state is unchanged,
/// except for counted failures and the counters of valid signatures. Time and randomness are parameters, so tests need neither
/// clock nor socket.
package struct Backend: Sendable {
    package var state: BackendState
    package private(set) var operationTemplates: OperationTemplates
    /// The templates of every state.
    private let configuredTemplates: OperationTemplates
    package let limits: EmulatorLimits
    let capacity: EmulatorCapacity
    /// The accepted protocol versions, until they are changed.
    package var protocolRules: EmulatorProtocolRules
    /// The generation of real servers to emulate.
    package let profile: EmulatorServerProfile
    /// The table that determines dispatch and access.
    let routes: RouteTable<Route>
    let applicationName: String
    /// The time at which the last request settled the state. A request with a skewed clock removes nothing by its own time.
    private(set) var settledUntil = Milliseconds.max
    let cloudCredentials: BasicCredentials?

    /// - Throws: ``DocumentMistake`` if a template of the configuration is unusable.
    package init(configuration: BackendConfiguration, randomness: SeededRandomness) throws {
        var randomness = randomness
        let application = try ServerApplication(id: configuration.applicationID, randomness: &randomness)
        var state = BackendState(application: application, randomness: randomness)
        for provider in configuration.oidcProviders { state.oidcProviders[provider.id] = provider }
        _ = state.takeChanges()  // a state that is new is written whole
        try self.init(state: state, configuration)
    }

    package init(state: BackendState, _ configuration: BackendConfiguration) throws(DocumentMistake) {
        self.state = state
        let routes = Self.routes(of: configuration.profile)
        self.routes = configuration.routes.isEmpty ? routes : RouteTable(routes.routes + configuration.routes)
        self.limits = configuration.limits
        self.capacity = configuration.capacity
        self.protocolRules = configuration.protocolRules
        self.profile = configuration.profile
        self.applicationName = configuration.applicationName
        self.cloudCredentials = configuration.cloudCredentials
        self.configuredTemplates = try OperationTemplates(parsing: configuration.templates)
        self.operationTemplates = try self.configuredTemplates.changed(by: state.templates)
    }

    /// The origin of a request.
    package enum Caller: Sendable {
        /// The network: requests must show the endpoint's credentials.
        case network
        /// A part of this process, trusted as the cloud API's user without credentials.
        case process
        /// The control API: trusted in the same way. Members that PowerAuth Cloud would ignore are refused, as in all its calls.
        case controlAPI
    }

    /// Responds to a request below `/pa`, `/api` or `/v2`; to any other with a 404 API error.
    ///
    /// - Parameter clockSkew: The seconds by which this request's clock is fast. It makes nothing due: expiry of operations,
    ///   codes and replay entries depends only on `now`.
    package mutating func reply(
        to request: ReceivedRequest,
        from caller: Caller = .network,
        at now: Date,
        clockSkew: Double = 0
    ) -> Reply {
        var context = RequestContext(request, from: caller, at: now.addingTimeInterval(clockSkew).milliseconds)
        context.events = self.settle(at: now)
        do {
            return Reply(try self.respond(&context), context)
        } catch {
            return Reply(self.worded(error, context), context)
        }
    }

    private mutating func respond(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let route: Route
        switch self.routes.match(method: context.request.method, path: context.request.path) {
        case .route(let found, let arguments): (route, context.pathArguments) = (found, arguments)
        case .wrongMethod(let allowed): throw .wrongMethod(allowed: allowed)
        case .none: throw .notFound(context.request.path)
        }
        context.route = route
        if route.description.access == .credentials, context.caller == .network, !self.admits(context.request) {
            throw .wrongCloudCredentials
        }
        try Self.checkContentType(of: context.request, taking: route.description)
        return try route.handle(&self, &context)
    }

    /// Returns whether a request has the credentials of a cloud API user.
    private func admits(_ request: ReceivedRequest) -> Bool {
        self.cloudCredentials?.areShown(by: request) == true
            || self.state.cloudUsers.values.contains { $0.credentials.areShown(by: request) }
    }

    private static func checkContentType(
        of request: ReceivedRequest,
        taking description: RouteDescription
    ) throws(Refusal) {
        // Devices' bodies are checked when they are read, after the code is verified. The Mobile Token API reads multipart forms
        // first.
        if request.isFromDevice {
            let type = Substring((request.header("Content-Type") ?? "").utf8.prefix(10))
            guard request.path.utf8.starts(with: "/api/".utf8), type.equalsIgnoringASCIICase("multipart/") else {
                return
            }
            throw .wrongContentType
        }
        let body = description.request
        let hasBody = !request.body.isEmpty || request.header("Content-Type") != nil
        guard request.method == "POST" || request.method == "PUT", hasBody, body?.isRead ?? true else { return }
        guard request.isJSON else { throw .wrongContentType }
    }

    /// Returns a refusal with the code and message of the API and the release. PowerAuth Cloud has its own codes. For devices,
    /// real servers respond with 500 to unreadable requests, and with one message to all failed authentications.
    private func worded(_ refusal: Refusal, _ context: RequestContext) -> Refusal {
        if context.route?.description.origin == .powerAuthCloud { return refusal.inWordsOfCloud }
        guard context.request.isFromDevice else { return refusal }
        if refusal.isUnreadable { return .unexpected(refusal.reason) }
        return refusal.inWords(of: self.profile)
    }

    // MARK: - Time

    /// Performs the work due by `now` without a request: expiry of operations and activation codes.
    package mutating func settle(at now: Date) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        self.settledUntil = context.now
        for operation in self.state.operations.expire(at: context.now) { context.report(operation, isTold: false) }
        for operation in self.state.operations.takeTold(at: context.now) { context.report(operation, isChange: false) }
        self.expireActivations(&context)
        return context.events
    }

    /// The time at which ``settle(at:)`` will next have work.
    package var nextDeadline: Date? {
        let operations = self.state.operations
        let deadlines = [operations.nextExpiration, operations.nextTelling, self.state.nextActivationExpiration]
            .compactMap(\.self)
        return deadlines.min().map(Date.init(milliseconds:))
    }

    /// Copies the protocol rules, which the control API sets and the data file lacks.
    package mutating func adoptRules(of other: Self) {
        self.protocolRules = other.protocolRules
    }

    // MARK: - Templates

    /// Adds a template, or replaces the one of its name, until the state is replaced.
    ///
    /// - Throws: A refusal if there is no room for one more.
    package mutating func insert(_ template: OperationTemplate) throws(Refusal) {
        guard self.operationTemplates[template.name] != nil || self.operationTemplates.count < self.capacity.templates
        else {
            throw .capacityExceeded("There is room for \(self.capacity.templates) templates")
        }
        self.operationTemplates.insert(template)
        self.state.templates[template.name] = ExportableJSON(template.document)
    }

    /// Removes a template, until the state is replaced.
    ///
    /// - Throws: A refusal if there is none, or a waiting operation uses it.
    package mutating func removeTemplate(_ name: String) throws(Refusal) {
        guard self.operationTemplates[name] != nil else { throw Refusal.noSuch("template") }
        if let operation = self.pendingOperations(from: name).first(where: { _ in true }) {
            throw Refusal(409, "INVALID_STATE", "The operation \(operation.id) waits and is made from it")
        }
        self.operationTemplates.remove(name)
        self.state.templates[name] = self.configuredTemplates[name].map { _ in ExportableJSON(.null) }
    }

    private func pendingOperations(from template: String) -> some Sequence<ServerOperation> {
        self.state.operations.newestFirst.lazy.filter { operation in
            guard operation.status == .pending, case .template(let name) = operation.content else { return false }
            return name.isExactly(template)
        }
    }

    // MARK: - Applications

    var defaultApplicationID: String { self.state.defaultApplicationID }

    /// Returns the version that a request names, such as `4.0`, or by default the presumed one.
    func majorVersion(named name: String?) throws(Refusal) -> MajorVersion {
        guard let name else { return self.protocolRules.presumedVersion }
        guard let version = MajorVersion(name: name) else {
            throw .invalidRequest("'protocolVersion' is none of \(MajorVersion.names.joined(separator: ", "))")
        }
        guard self.accepts(version) else {
            throw .invalidRequest("The server does not accept version \(name)")
        }
        return version
    }

    func accepts(_ version: MajorVersion) -> Bool {
        self.protocolRules.accepts(version) && (version != .version4 || self.profile.servesVersion4)
    }

    /// Returns whether an application's version 3 activations are offered the upgrade.
    func offersUpgrade(to applicationID: String) -> Bool {
        self.profile.servesVersion4 && self.protocolRules.offersUpgrade(to: applicationID)
    }

    /// Returns the application of a key, unless its version is switched off.
    func application(ofKey key: String) -> ServerApplication? {
        // There are only a handful.
        self.state.applications.values.first { $0.key == key && !self.isSwitchedOff($0) }
    }

    /// Returns the reason for refusing an application key, for the journal.
    func objection(toApplicationKey key: String) -> String {
        guard let application = self.state.applications.values.first(where: { $0.key == key }) else {
            return "the application key is unknown"
        }
        return self.isSwitchedOff(application)
            ? "the version of the application is switched off" : "the application key is of another application"
    }

    private func isSwitchedOff(_ application: ServerApplication) -> Bool {
        self.protocolRules.unsupportedApplications.contains(application.id)
    }
}

extension ReceivedRequest {
    /// Indicates whether it is for a device API.
    fileprivate var isFromDevice: Bool { ["/pa/", "/api/"].contains { self.path.utf8.starts(with: $0.utf8) } }
}
