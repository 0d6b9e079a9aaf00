import Basics
import Coordination
import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuth
import Synchronization

/// A desk's client of the server, with a rate limit and the server's time, and without retries, because the desk repeats calls itself.
final class PacedCloud: Sendable {
    private let cloud: CloudClient
    /// The client whose release ends its connections.
    private let owner: CloudClient
    private let clock: ServiceClock
    private let budget: Mutex<RequestBudget>
    private let time = Mutex(ServerTime())

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
        let sent = self.clock.now
        do {
            let answer = try await call(self.cloud)
            self.note(answer.date, sent: sent)
            return answer
        } catch let error as CloudError {
            self.note(error.date, sent: sent)
            throw error
        } catch {
            throw CloudError(.canceled, "The call was canceled")
        }
    }

    func show(
        _ operationID: String,
        isAdmitted: Bool = false
    ) async throws(CloudError) -> CloudResponse<CloudClient.Operation> {
        try await self.call(isAdmitted: isAdmitted) { try await $0.operation(operationID) }
    }

    // MARK: The server's time

    /// The server's time, or a later one; `nil` before it told one.
    var now: Int64? {
        let now = self.clock.now
        return self.time.withLock { $0.now(at: now) }
    }

    /// Records the server's time.
    ///
    /// - Parameter sent: The time when the request was sent that the server told it in answer to.
    func note(_ date: Date?, sent: Duration) {
        guard let date else { return }
        let now = self.clock.now
        self.time.withLock { $0.note(date.milliseconds, sent: sent, at: now) }
    }

    /// Requests the server's time, unless it was recently received. It determines the end of the time to decide, whatever the
    /// desk's clock.
    ///
    /// - Returns: `true` if a request was made.
    func learnTime() async throws(CloudError) -> Bool {
        let now = self.clock.now
        guard self.time.withLock({ $0.mustBeAskedFor(at: now) }) else { return false }
        do {
            // The server has no such operation; only its response and date matter.
            _ = try await self.show("00000000-0000-0000-0000-000000000000")
        } catch {
            if error.date == nil, error.kind.isUnanswered { throw error }
        }
        self.time.withLock { $0.asked = now }
        return true
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

/// The server's time by its answers and a monotonic clock.
struct ServerTime: Sendable {
    /// The validity of an answer.
    private static let validity = Duration.seconds(600)

    /// The longest time in which a prompt answer is read: a question's time to decide, which begins at the server, may differ by
    /// twice as much.
    private static let promptness = Duration.seconds(5)

    /// The last time told, and when the request for it was sent: the answer may be read much later, as after the machine slept. So an
    /// approval never seems younger than it is.
    private var told: (date: Int64, sent: Duration, isPrompt: Bool)?
    /// When it was last asked for, even in vain.
    var asked: Duration?

    /// A late answer, after which the server's time may be earlier than it seems, counts only without a prompt one before.
    mutating func note(_ date: Int64, sent: Duration, at now: Duration) {
        let isPrompt = now - sent <= Self.promptness
        if isPrompt || self.told?.isPrompt != true { self.told = (date, sent, isPrompt) }
    }

    func now(at now: Duration) -> Int64? {
        self.told.map { $0.date.addingSaturated((now - $0.sent).milliseconds) }
    }

    func mustBeAskedFor(at now: Duration) -> Bool {
        guard self.told?.isPrompt != false else { return true }
        return [self.told?.sent, self.asked].compactMap { $0 }.allSatisfy { now - $0 >= Self.validity }
    }
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
