import Basics
import Coordination
import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuth
import Synchronization

/// A desk's client of the server, with a rate limit, and without retries, because the desk repeats calls itself.
final class PacedCloud: Sendable {
    private let cloud: CloudClient
    /// The client whose release ends its connections.
    private let owner: CloudClient
    private let clock: ServiceClock
    private let budget: Mutex<RequestBudget>

    init(_ cloud: CloudClient, requestsPerSecond: Double, clock: ServiceClock) {
        (self.cloud, self.owner, self.clock) = (cloud.sendingOnce(), cloud, clock)
        self.budget = Mutex(RequestBudget(perSecond: requestsPerSecond))
    }

    /// The maximum duration of a request. After it an unanswered creation can no longer arrive.
    var timeout: Duration { self.cloud.timeout }

    /// Waits until `count` requests may be sent, and counts them.
    ///
    /// - Returns: `true` if it had to wait.
    @discardableResult
    func waitForTurns(_ count: Int = 1) async throws(CloudError) -> Bool {
        let now = self.clock.now
        let turn = self.budget.withLock { budget in
            (0..<count).reduce(now) { _, _ in budget.next(at: now) }
        }
        guard turn > now else { return false }
        do { try await self.clock.sleep(until: turn) } catch { throw CloudError(.canceled, "The call was canceled") }
        return true
    }

    /// Makes a call.
    ///
    /// - Parameter isAdmitted: `true` if ``waitForTurns(_:)`` counted it.
    func call<Value>(
        isAdmitted: Bool = false,
        _ call: (CloudClient) async throws -> CloudResponse<Value>
    ) async throws(CloudError) -> CloudResponse<Value> {
        if !isAdmitted { try await self.waitForTurns() }
        do { return try await call(self.cloud) } catch let error as CloudError { throw error } catch {
            throw CloudError(.canceled, "The call was canceled")
        }
    }

    func show(
        _ operationID: String,
        isAdmitted: Bool = false
    ) async throws(CloudError) -> CloudResponse<CloudClient.Operation> {
        try await self.call(isAdmitted: isAdmitted) { try await $0.operation(operationID) }
    }

    /// Returns the server's time by a request without effect; `nil` if the server reports none.
    func time() async throws(CloudError) -> Date? {
        do {
            // The server has no such operation; only its response and date matter.
            return try await self.show("00000000-0000-0000-0000-000000000000").date
        } catch {
            if error.date == nil, error.kind.isUnanswered { throw error }
            return error.date
        }
    }

    /// Returns whether a user has an active device; `nil` if the server does not tell.
    ///
    /// - Throws: `CancellationError`.
    func hasDevice(_ user: String) async throws(CancellationError) -> Bool? {
        do {
            let answer = try await self.call { try await $0.registrations(of: user) }
            return answer.value.contains { $0.status == .active && $0.userID.isExactly(user) }
        } catch {
            if error.code == .canceled { throw CancellationError() }
            return nil
        }
    }
}

extension CloudError {
    /// The consequence of a failed call.
    enum Kind: Equatable {
        /// The server itself refused: nothing was changed.
        case refused
        /// The server knows no such operation or registration.
        case notFound
        /// The server reports that the operation is no longer pending.
        case notPending
        /// There is no usable response. With `isOutcomeUnknown`, the call may have had its effect.
        case unanswered(isOutcomeUnknown: Bool)

        fileprivate var isUnanswered: Bool { if case .unanswered = self { true } else { false } }
    }

    var kind: Kind {
        switch self.code {
        case _ where self.isOutcomeUnknown, .canceled: .unanswered(isOutcomeUnknown: true)
        case .operationNotFound, .registrationNotFound: .notFound
        case .operationNotChangeable: .notPending
        // The server's own verdict on the request. Other errors concern the server or the caller, and may pass.
        case .invalidRequest, .registrationNotAllowed, .registrationFailed, .pushFailed, .otherRefusal:
            self.serverCode == nil ? .unanswered(isOutcomeUnknown: false) : .refused
        default: .unanswered(isOutcomeUnknown: false)
        }
    }

    /// The server's or the client's own code, without credentials.
    var name: String { self.serverCode ?? self.code.description }
}

extension CloudClient.Operation {
    /// The reason of its rejection or cancellation.
    var reason: String? { self.rejectReason ?? self.statusReason }
    /// The deciding registration.
    var registrationID: String? {
        self.additionalData?["activationId"]?.string ?? self.additionalData?["registrationId"]?.string
    }
    var factors: String? { self.additionalData?["authFactor"]?.string }
    /// The device's own signature of the data, unverified.
    var deviceSignature: String? {
        self.additionalData?["mobileTokenData"]?[OperationSignature.member]?.string.flatMap(Self.plausible)
    }

    /// Returns the device's own signature in a callback's body.
    static func deviceSignature(inCallback body: JSONView) -> String? {
        body["additionalData"]?["mobileTokenData"]?[OperationSignature.member]?.string.flatMap(Self.plausible)
    }

    private static func plausible(_ signature: String) -> String? { signature.utf8.count <= 16 << 10 ? signature : nil }
}

/// The rate limit, as a value with the times of the last requests.
struct RequestBudget: Sendable {
    private static let memory = 1_000.0

    /// The window that holds at most the remembered number of requests.
    private let window: Duration
    /// The times of the last requests, a ring.
    private var times: [Duration?]
    private var oldest = 0

    init(perSecond: Double) {
        let rate = max(perSecond, 0.01)
        let count = min(max(1, rate.rounded(.down)), Self.memory)
        self.window = .seconds(count / rate)
        self.times = Array(repeating: nil, count: Int(count))
    }

    /// Returns the time of the next request, and counts it.
    mutating func next(at now: Duration) -> Duration {
        let turn = self.times[self.oldest].map { max(now, $0 + self.window) } ?? now
        self.times[self.oldest] = turn
        self.oldest = (self.oldest + 1) % self.times.count
        return turn
    }
}
