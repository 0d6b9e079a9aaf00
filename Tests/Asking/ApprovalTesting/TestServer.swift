import APIDescriptions
import ExactJSON
import Foundation
package import HTTPClientTransport
package import MobileTokenApprovals
public import MobileTokenCloud
package import MobileTokenTesting
import Synchronization

/// A server that does what a test wants of it, lies included. It fills templates by rules of its own.
package final class TestServer: HTTPTransport {
    package struct Decision {
        package var status: CloudClient.OperationStatus = .approved
        package var after: Int64 = 0
        package var reason: String?
        package var registration = "device-1"
        package var factors = "possession_knowledge"
        /// The device's own signature of what it approves.
        package var signature: (@Sendable (CloudClient.Operation) -> String?)?

        package init(
            status: CloudClient.OperationStatus = .approved,
            after: Int64 = 0,
            reason: String? = nil,
            registration: String = "device-1",
            factors: String = "possession_knowledge"
        ) {
            (self.status, self.after, self.reason) = (status, after, reason)
            (self.registration, self.factors) = (registration, factors)
        }
    }

    /// The failure of a request, in place of an answer.
    package enum Failure: Error {
        case transport(HTTPTransportError)
        case response(HTTPResponse)

        /// The server's own word.
        package static func refused(_ code: String, _ status: Int = 400) -> Self {
            let body: JSONValue = ["status": "ERROR", "responseObject": ["code": .string(code), "message": "no"]]
            return .response(HTTPResponse(status: status, body: body.serialized()))
        }
        package static let notFound = Self.refused("ERROR_OPERATION_NOT_FOUND", 404)
        static let over = Self.refused("ERROR_OPERATION_STATE_CHANGE", 409)
    }

    package struct State {
        package var operations: [CloudClient.Operation] = []
        package var registrations: [String: CloudClient.Registration] = [:]
        /// The decisions of people, by user id.
        package var script: [String: Decision] = [:]
        /// The templates that requests pin.
        package var templates: [String: ApprovalTemplate] = [:]
        /// The form of the data at the server, by template, where it is not the pinned one.
        package var forms: [String: String] = [:]
        package var creations: [CloudClient.NewOperation] = []
        package var shows: [String] = []
        package var cancellations: [String] = []
        package var offlineCodes = 0
        /// As the server's template has it, which may escape no end of a line.
        package var offlineTitle = "title"
        package var offlineOneTimeCode: String?
        /// Failures of the next creations; with `true` the operation is made all the same.
        package var creationFailures: [(Failure, isMade: Bool)] = []
        package var showFailures: [Failure] = []
        package var cancelFailures: [Failure] = []
        package var isDocumentedOnly = false
        /// Indicates whether the server lists the registrations of a user, which no document says.
        package var listsRegistrations = false
        package var sendsDates = true
        /// The lead of the server's clock, in milliseconds.
        package var skew: Int64 = 0
        package var lie: (@Sendable (inout CloudClient.Operation) -> Void)?
        /// Beside the binding: parameters that the server's template does not name.
        package var dropped: Set<String> = []
        package var beforeShow: (@Sendable (TestServer) async -> Void)?
        package var beforeCreate: (@Sendable (TestServer, CloudClient.NewOperation) async -> Void)?
        /// Done with every request that arrives; a failure is its answer.
        package var onArrival: (@Sendable (TestServer) async -> Failure?)?
        /// Done after the next answer was made, and before anybody reads it.
        package var afterAnswer: (@Sendable (TestServer) -> Void)?
        /// The times at which requests arrived, in milliseconds.
        package var arrivals: [Int64] = []
    }

    package static let start: Int64 = 1_800_000_000_000
    package let clock: ManualClock
    private let begin: ManualClock.Instant
    private let state = Mutex(State())

    package init(_ clock: ManualClock) {
        self.clock = clock
        self.begin = clock.now
    }

    package var elapsed: Int64 {
        let (seconds, attoseconds) = self.begin.duration(to: self.clock.now).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    package func with<Result: Sendable>(_ body: (inout State) throws -> sending Result) rethrows -> sending Result {
        try self.state.withLock { try body(&$0) }
    }

    package var operations: [CloudClient.Operation] { self.with { $0.operations } }

    /// Changes an operation of the server.
    package func update(_ index: Int = 0, _ change: (inout CloudClient.Operation) -> Void) {
        self.with { change(&$0.operations[index]) }
    }

    /// Makes a template that a request pins.
    package var know: @Sendable (ApprovalTemplate) -> Void {
        { template in self.with { $0.templates[template.name] = template } }
    }

    private var now: Int64 { Self.start + self.elapsed + self.with { $0.skew } }

    package static func unanswered(lost: Bool) -> Failure {
        .transport(HTTPTransportError(lost ? .connectionLost : .connectionFailed))
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response: HTTPResponse
        do throws(Failure) {
            response = HTTPResponse(status: 200, body: try await self.answer(to: request).serialized())
        } catch {
            switch error {
            case .transport(let error): throw error
            case .response(let refusal): response = refusal
            }
        }
        if self.with({ $0.sendsDates }), response.status < 500 {
            response.headers.add(
                name: "Date",
                value: HTTPDate.string(from: Date(timeIntervalSince1970: Double(self.now / 1_000)))
            )
        }
        self.with { $0.afterAnswer.take() }?(self)
        return response
    }

    private func answer(to request: HTTPRequest) async throws(Failure) -> JSONValue {
        let (path, query) = { ($0.first ?? "", $0.dropFirst().first ?? "") }(request.url.components(separatedBy: "?"))
        let segments = Array(path.components(separatedBy: "/").drop { $0 != "v2" }.dropFirst())
        switch (request.method, segments.first, segments.count) {
        case (.post, "operations", 1):
            guard let body = try? JSONValue(parsing: request.body ?? []),
                let new = try? CloudClient.NewOperation.form.read(body)
            else { throw .refused("ERROR_REQUEST") }
            return CloudClient.Operation.form.json(self.shown(try await self.create(new)))
        case (.get, "operations", 2):
            return CloudClient.Operation.form.json(self.shown(try await self.show(segments[1])))
        case (.delete, "operations", 2):
            return CloudClient.Operation.form.json(self.shown(try await self.cancel(segments[1])))
        case (.get, "operations", 4): return try await self.offlineCode(ofOperation: segments[1])
        case (.get, "registrations", 2):
            try await self.arrive()
            guard let registration = self.with({ $0.registrations[segments[1]] }) else {
                throw .refused("ERROR_REGISTRATION_NOT_FOUND", 404)
            }
            return CloudClient.Registration.form.json(registration)
        case (.get, "registrations", 1) where self.with { $0.listsRegistrations }:
            try await self.arrive()
            let registrations = self.with {
                $0.registrations.values.filter { query.contains("userId=\($0.userID)&") }
            }
            return CloudClient.Registration.list.json(registrations)
        default: throw .refused("ERROR_NOT_FOUND", 404)
        }
    }

    private func arrive() async throws(Failure) {
        let elapsed = self.elapsed
        let act = self.with { state in
            state.arrivals.append(elapsed)
            return state.onArrival
        }
        if let failure = await act?(self) { throw failure }
    }

    private func create(_ new: CloudClient.NewOperation) async throws(Failure) -> CloudClient.Operation {
        try await self.arrive()
        let now = self.now
        if let before = self.with({ $0.beforeCreate }) { await before(self, new) }
        let (failure, isMade) = self.with { state -> (Failure?, Bool) in
            state.creations.append(new)
            guard !state.creationFailures.isEmpty else { return (nil, true) }
            let (failure, isMade) = state.creationFailures.removeFirst()
            return (failure, isMade)
        }
        guard isMade, let name = new.templateName, let template = self.with({ $0.templates[name] }) else {
            throw failure ?? .refused("ERROR_TEMPLATE_NOT_FOUND")
        }
        let operation = self.with { state -> CloudClient.Operation in
            let parameters = new.allParameters ?? [:]
            var operation = CloudClient.Operation(
                id: "op-\(state.operations.count + 1)",
                status: "PENDING",
                operationType: template.operationType ?? name,
                failures: (0, 5),
                created: now,
                expires: new.expiresMilliseconds ?? now
            )
            operation.userID = new.userID
            operation.allParameters = parameters.filter { !state.dropped.contains($0.key) }
            operation.data = Self.fill(state.forms[name] ?? template.signs, parameters.compactMapValues(\.string))
            state.operations.append(operation)
            return operation
        }
        if let failure { throw failure }
        return operation
    }

    /// By splitting, where the desk scans: two ways to one result.
    private static func fill(_ form: String, _ parameters: [String: String]) -> String {
        let pieces = form.components(separatedBy: "${")
        return pieces.dropFirst().reduce(pieces[0]) { filled, piece in
            let parts = piece.components(separatedBy: "}")
            let value = (parameters[parts[0]] ?? "").replacingOccurrences(of: "\\", with: "\\\\")
                .replacingOccurrences(of: "*", with: "\\*")
            return filled + value + parts.dropFirst().joined(separator: "}")
        }
    }

    private func shown(_ operation: CloudClient.Operation) -> CloudClient.Operation {
        var operation = operation
        let (isDocumentedOnly, lie) = self.with { ($0.isDocumentedOnly, $0.lie) }
        lie?(&operation)
        if isDocumentedOnly {
            (operation.data, operation.additionalData, operation.finalizedMilliseconds) = (nil, nil, nil)
        }
        return operation
    }

    private func show(_ id: String) async throws(Failure) -> CloudClient.Operation {
        try await self.arrive()
        // Only the time is asked for.
        guard !id.hasPrefix("00000000-") else { throw .notFound }
        if let before = self.with({ $0.beforeShow }) { await before(self) }
        let failure = self.with { state -> Failure? in
            state.shows.append(id)
            return state.showFailures.isEmpty ? nil : state.showFailures.removeFirst()
        }
        if let failure { throw failure }
        self.decide()
        guard let operation = self.operations.first(where: { $0.id == id }) else { throw .notFound }
        return operation
    }

    /// Lets everybody decide whose moment has come.
    private func decide() {
        let now = self.now
        self.with { state in
            for index in state.operations.indices where state.operations[index].status == "PENDING" {
                let operation = state.operations[index]
                let decision = state.script[operation.userID ?? ""]
                if let decision, operation.createdMilliseconds + decision.after <= now,
                    operation.createdMilliseconds + decision.after < operation.expiresMilliseconds
                {
                    state.operations[index].status = decision.status
                    state.operations[index].finalizedMilliseconds = operation.createdMilliseconds + decision.after
                    var data: JSONObject = [
                        "activationId": .string(decision.registration), "authFactor": .string(decision.factors),
                    ]
                    if let signature = decision.signature?(operation) {
                        data["mobileTokenData"] = ["deviceSignature": .string(signature)]
                    }
                    data["rejectReason"] = decision.reason.map { .string($0) }
                    state.operations[index].additionalData = .object(data)
                } else if operation.expiresMilliseconds <= now {
                    state.operations[index].status = "EXPIRED"
                    state.operations[index].finalizedMilliseconds = operation.expiresMilliseconds
                }
            }
        }
    }

    private func cancel(_ id: String) async throws(Failure) -> CloudClient.Operation {
        try await self.arrive()
        let failure = self.with { state -> Failure? in
            state.cancellations.append(id)
            return state.cancelFailures.isEmpty ? nil : state.cancelFailures.removeFirst()
        }
        if let failure { throw failure }
        self.decide()
        let now = self.now
        let canceled = self.with { state -> CloudClient.Operation? in
            guard let index = state.operations.firstIndex(where: { $0.id == id }),
                state.operations[index].status == "PENDING"
            else { return nil }
            state.operations[index].status = "CANCELED"
            state.operations[index].finalizedMilliseconds = now
            return state.operations[index]
        }
        guard let canceled else { throw .over }
        return canceled
    }

    private func offlineCode(ofOperation id: String) async throws(Failure) -> JSONValue {
        try await self.arrive()
        self.with { $0.offlineCodes += 1 }
        guard let operation = self.operations.first(where: { $0.id == id }), operation.status == "PENDING" else {
            throw .over
        }
        let (title, code) = self.with { ($0.offlineTitle, $0.offlineOneTimeCode) }
        let parameters = operation.parameters
        let lines =
            [id, Self.fill(title, parameters), "message", operation.data ?? "", "BX"] + [code].compactMap(\.self)
            + ["bm9uY2U=", "0c2ln"]
        return CloudClient.OfflineCode.form.json(.init(content: lines.joined(separator: "\n"), nonce: "bm9uY2U="))
    }
}

/// Tests say the server's words as they are.
extension CloudClient.OperationStatus: ExpressibleByStringLiteral {
    /// Creates a status from the server's word.
    public init(stringLiteral word: String) { self.init(rawValue: word) }
}

extension CloudClient.RegistrationStatus: ExpressibleByStringLiteral {
    /// Creates a status from the server's word.
    public init(stringLiteral word: String) { self.init(rawValue: word) }
}
