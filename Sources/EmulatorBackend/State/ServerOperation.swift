import Basics
package import CloudCalls
import ExactJSON
import PowerAuthProtocol

/// An operation on the server: what a user is asked to decide, and the decision.
package struct ServerOperation: Sendable, Codable, Equatable {
    package typealias Status = CloudOperationStatus

    /// The source of title, message and data.
    package enum Content: Sendable, Codable, Equatable {
        /// A template, filled in the language of each reader.
        case template(String)
        /// As the request that made the operation had it.
        case custom(formData: ExportableJSON, ui: ExportableJSON?)
    }

    package let id: String
    /// `nil` until a user claims it.
    package var userID: String?
    let applicationID: String
    /// The only activation that may decide; `nil` for each of the user's.
    var activationID: String?
    /// The flag of the activations that alone see and decide it; `nil` for all.
    var activationFlag: String?
    var externalID: String?
    /// The address at which the bank wants to be told of this operation alone.
    var callbackURL: String?
    /// The language of what is pushed of it, and of its preview; `nil` leaves it to the fallback.
    package var language: String?
    /// Indicates whether nothing is pushed of it; `nil` for no.
    var isSilent: Bool?
    package let content: Content
    /// The `name` the device sees, `operationType` in the cloud API.
    package let type: String
    package let data: String
    package let parameters: [String: ExportableJSON]
    let allowedSignature: AllowedSignature
    let warnsOfFraud: Bool
    package let created: Milliseconds
    package private(set) var expires: Milliseconds
    package let maximumFailures: Int
    /// The key of the rotating code, when the operation asks for one.
    package let proximitySeed: ExportableSecret?
    package private(set) var status = Status.pending
    /// The reason for which the bank canceled it. A user's reason to reject it is in the additional data.
    package private(set) var statusReason: String?
    package private(set) var failures = 0
    private(set) var finalized: Milliseconds?
    /// The traces of attempts to decide, by name: `activationId`, `mobileTokenData`, `rejectReason`, …
    private(set) var additionalData: [String: ExportableJSON] = [:]

    /// The demands of the operation on an attempt to approve.
    struct Approval {
        var userID: String
        var applicationID: String
        var activationID: String
        var data: String
        var factors: SignatureType
        /// `nil` when the operation asks for no code; otherwise whether the right one came.
        var proximityCodeIsRight: Bool?
    }

    /// Returns the reason for which an approval fails; `nil` when it may succeed.
    func objection(to approval: Approval) -> String? {
        if let objection = self.objection(toUser: approval.userID, ofApplication: approval.applicationID) {
            return objection
        }
        if let bound = self.activationID, bound != approval.activationID {
            return "the operation is for another activation of the user"
        }
        if !self.data.isExactly(approval.data) { return "the data is not the operation's" }
        if !self.allowedSignature.allows(approval.factors) {
            return "the operation does not allow \(approval.factors.rawValue)"
        }
        if approval.proximityCodeIsRight == false { return "the proximity code is missing, wrong or too old" }
        return nil
    }

    /// Returns the reason for which a user may not even reject it; `nil` when the user may. An operation of nobody is anybody's.
    func objection(toUser userID: String, ofApplication applicationID: String) -> String? {
        if self.userID?.isExactly(userID) == false { return "the operation belongs to another user" }
        return self.applicationID.isExactly(applicationID) ? nil : "the operation belongs to another application"
    }

    mutating func approve(_ trace: DecisionTrace, at now: Milliseconds) {
        self.keep(trace)
        self.finish(.approved, at: now)
    }

    /// Counts a failed attempt; the last one that is allowed makes the operation fail.
    mutating func countFailure(_ trace: DecisionTrace, at now: Milliseconds) {
        self.keep(trace)
        self.failures = self.failures.addingSaturated(1)
        if self.failures >= self.maximumFailures { self.finish(.failed, at: now) }
    }

    mutating func reject(_ trace: DecisionTrace, at now: Milliseconds) {
        self.keep(trace)
        self.finish(.rejected, at: now)
    }

    mutating func cancel(reason: String?, at now: Milliseconds) {
        self.statusReason = reason
        self.finish(.canceled, at: now)
    }

    /// Ends it before its time.
    mutating func expire(early now: Milliseconds) {
        self.expires = now
        self.expire(at: now)
    }

    mutating func expire(at now: Milliseconds) {
        self.finish(.expired, at: now)
    }

    /// The words of the last attempt replace those of the attempts before.
    private mutating func keep(_ trace: DecisionTrace) {
        for (name, value) in trace.members { self.additionalData[name] = ExportableJSON(value) }
    }

    private mutating func finish(_ status: Status, at now: Milliseconds) {
        self.status = status
        self.finalized = now
    }

    /// The reason its user rejected it, in the device's words.
    package var rejectReason: String? { self.additionalData["rejectReason"]?.value.string }

    /// The activation that was the last to try to decide it, and the one that did, if it is decided.
    package var decidingActivationID: String? { self.additionalData["activationId"]?.value.string }

    /// Indicates whether an activation of the user may see it in a list.
    func isVisible(to activation: ServerActivation) -> Bool {
        (self.userID?.isExactly(activation.userID) ?? true)
            && self.applicationID.isExactly(activation.applicationID)
            && self.activationID.map { $0 == activation.id } ?? true
            && self.activationFlag.map { flag in activation.flags.contains { $0.isExactly(flag) } } ?? true
    }
}
