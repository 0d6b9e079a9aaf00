import Coordination
import ExactJSON
import Foundation
import MobileToken
import PowerAuth
import Synchronization

/// A channel whose answers a test writes, one request at a time or by rule.
final class ScriptedChannel: AuthenticatedChannel {
    struct Request: Sendable {
        let path: String
        let json: JSONValue?
        let authentication: RequestAuthentication
        let acceptLanguage: String
        fileprivate let id: Int
        fileprivate let channel: ScriptedChannel

        func answer(_ body: [UInt8]) { self.channel.settle(self.id, .success(body)) }
        func answer(_ text: String) { self.answer(Array(text.utf8)) }
        func fail(_ error: any Error) { self.channel.settle(self.id, .failure(error)) }

        var uriID: String? {
            if case .signature(let uriID, _) = self.authentication { uriID } else { nil }
        }
    }

    struct OfflineRequest: Sendable, Equatable {
        let data: [UInt8]
        let nonce: [UInt8]
        let uriID: String
        let componentLength: Int?
    }

    typealias Rule = @Sendable (Request) throws -> [UInt8]

    private struct State {
        var serverDate = UserOperation.sampleDate
        var hasToldTheTime = true
        var rule: Rule?
        var count = 0
        var cancelled = 0
        /// Requests that the test has not taken yet.
        var arrived: [Request] = []
        var offline: [OfflineRequest] = []
        var pending: [Int: CheckedContinuation<[UInt8], any Error>] = [:]
    }

    let activationID = "3f2c0d1e"
    let observer: (any MobileTokenObserver)?
    let evidence: DecisionEvidence?

    private let state = Mutex(State())
    private let arrival = Signal()
    private let cancellation = Signal()

    /// - Parameters:
    ///   - evidence: The evidence of the decisions; by default that of an active activation in step.
    ///   - rule: Answers every request at once; without one, requests wait for the test.
    init(
        observer: (any MobileTokenObserver)? = nil,
        evidence: ScriptedEvidence? = ScriptedEvidence(),
        rule: Rule? = nil
    ) {
        self.observer = observer
        self.evidence = evidence.map { DecisionEvidence($0) }
        self.state.withLock { $0.rule = rule }
    }

    /// `true` if the server has told its time, and `false` if the date is the local clock's word.
    var hasToldTheTime: Bool {
        get { self.state.withLock { $0.hasToldTheTime } }
        set { self.state.withLock { $0.hasToldTheTime = newValue } }
    }

    var measuredServerDate: Date? { self.hasToldTheTime ? self.serverDate : nil }

    var serverDate: Date {
        get { self.state.withLock { $0.serverDate } }
        set { self.state.withLock { $0.serverDate = newValue } }
    }

    /// The one signature that counts as the server's.
    let acceptedSignature: [UInt8] = Array(repeating: 7, count: 70)

    var offlineRequests: [OfflineRequest] { self.state.withLock { $0.offline } }

    var requestCount: Int { self.state.withLock { $0.count } }
    /// The number of requests taken off the wire.
    var cancelledCount: Int { self.state.withLock { $0.cancelled } }
    /// The number of requests that wait for an answer.
    var pendingCount: Int { self.state.withLock { $0.pending.count } }

    func setRule(_ rule: Rule?) { self.state.withLock { $0.rule = rule } }

    /// The next request, in the order they came; waits for one.
    func nextRequest() async -> Request {
        while true {
            let request = self.state.withLock { $0.arrived.isEmpty ? nil : $0.arrived.removeFirst() }
            if let request { return request }
            _ = await self.arrival.wait()
        }
    }

    /// Waits until `count` requests were taken off the wire.
    func waitForCancelled(_ count: Int) async {
        while self.cancelledCount < count { _ = await self.cancellation.wait() }
    }

    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse {
        let (request, rule) = self.state.withLock { state in
            state.count += 1
            let request = Request(
                path: path,
                json: try? JSONValue(parsing: body),
                authentication: authentication,
                acceptLanguage: acceptLanguage,
                id: state.count,
                channel: self
            )
            return (request, state.rule)
        }
        try Task.checkCancellation()
        if let rule { return ChannelResponse(try rule(request), httpStatus: 200) }

        let body = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = self.state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    state.pending[request.id] = continuation
                    state.arrived.append(request)
                    return false
                }
                if isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    self.arrival.raise()
                }
            }
        } onCancel: {
            self.settle(request.id, .failure(CancellationError()))
            self.state.withLock { $0.cancelled += 1 }
            self.cancellation.raise()
        }
        return ChannelResponse(body, httpStatus: 200)
    }

    func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int?,
        with authentication: Activation.Authentication
    ) async throws -> String {
        self.state.withLock {
            $0.offline.append(OfflineRequest(data: data, nonce: nonce, uriID: uriID, componentLength: componentLength))
        }
        return "12345678-87654321"
    }

    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey,
        format: Activation.ServerSignatureFormat
    ) -> Bool {
        signature == self.acceptedSignature
    }

    private func settle(_ id: Int, _ result: Result<[UInt8], any Error>) {
        self.state.withLock { $0.pending.removeValue(forKey: id) }?.resume(with: result)
    }
}

extension OperationsService.Configuration {
    /// A configuration with this clock, whose pauses are all of their middle length.
    static func even(_ clock: any Clock<Duration>) -> Self {
        var configuration = Self()
        configuration.clock = clock
        configuration.random = { 0.5 }
        return configuration
    }
}
