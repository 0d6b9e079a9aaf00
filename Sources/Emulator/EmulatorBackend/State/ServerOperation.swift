import Basics
import ExactJSON
package import MobileTokenCloud
import PowerAuthProtocol

/// An operation on the server, with its decision.
package struct ServerOperation: Sendable, Codable, Equatable {
    package typealias Status = CloudOperationStatus

    /// The source of title, message and data.
    package enum Content: Sendable, Codable, Equatable {
        /// A template, filled in each reader's language.
        case template(String)
        /// The content of the creating request.
        case custom(formData: ExportableJSON, ui: ExportableJSON?)
    }

    package let id: String
    /// The owner; `nil` until a user claims it.
    package var userID: String?
    let applicationID: String
    /// The only activation that may decide; `nil` for any of the user's.
    var activationID: String?
    /// The flag of the only activations that see and decide it; `nil` for all.
    var activationFlag: String?
    var externalID: String?
    /// The bank's callback address for this operation.
    var callbackURL: String?
    /// The language of push messages and of its preview; `nil` for the fallback.
    package var language: String?
    /// Indicates whether push messages are omitted; `nil` for no.
    var isSilent: Bool?
    package let content: Content
    /// The `name` that the device sees, `operationType` in the cloud API.
    package let type: String
    package let data: String
    package let parameters: [String: ExportableJSON]
    let allowedSignature: AllowedSignature
    /// The risk flags of its template.
    let riskFlags: String
    package let created: Milliseconds
    package private(set) var expires: Milliseconds
    package let maximumFailures: Int
    /// The key of the rotating code, if the operation requires one.
    package let proximitySeed: ExportableSecret?
    package private(set) var status = Status.pending
    /// The bank's reason for the cancellation. A user's reason for a rejection is in the additional data.
    package private(set) var statusReason: String?
    package private(set) var failures = 0
    private(set) var finalized: Milliseconds?
    /// Set from its expiration until the bank is notified; also `nil` in states of older servers.
    var isExpirationUntold: Bool?
    /// The traces of attempts to decide, by name: `activationId`, `mobileTokenData`, `rejectReason`, …
    private(set) var additionalData: [String: ExportableJSON] = [:]

    /// An attempt to approve, with the properties that the operation checks.
    struct Approval {
        var userID: String
        var applicationID: String
        var activationID: String
        var data: String
        var factors: SignatureType
        /// Indicates whether the proximity code was valid; `nil` if none is required.
        var proximityCodeIsRight: Bool?
    }

    /// Returns the reason why an approval fails; `nil` if it may succeed.
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

    /// Returns the reason why a user may not even reject it; `nil` if the user may. An operation without a user is open to all.
    func objection(toUser userID: String, ofApplication applicationID: String) -> String? {
        if self.userID?.isExactly(userID) == false { return "the operation belongs to another user" }
        return self.applicationID.isExactly(applicationID) ? nil : "the operation belongs to another application"
    }

    mutating func approve(_ trace: DecisionTrace, at now: Milliseconds) {
        self.keep(trace)
        self.finish(.approved, at: now)
    }

    /// Counts a failed attempt; the last allowed one makes the operation fail.
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

    /// Expires it before its time.
    mutating func expire(early now: Milliseconds) {
        self.expires = now
        self.expire(at: now)
    }

    mutating func expire(at now: Milliseconds) {
        self.finish(.expired, at: now)
    }

    /// Stores a trace; it replaces the earlier attempts' members.
    private mutating func keep(_ trace: DecisionTrace) {
        let members = trace.members.mapValues(ExportableJSON.init)
        self.additionalData = self.additionalData.isEmpty ? members : self.additionalData.merging(members) { $1 }
    }

    private mutating func finish(_ status: Status, at now: Milliseconds) {
        self.status = status
        self.finalized = now
    }

    /// The user's reason for the rejection, from the device.
    package var rejectReason: String? { self.additionalData["rejectReason"]?.value.string }

    /// The activation of the last attempt, which has decided it if it is decided.
    package var decidingActivationID: String? { self.additionalData["activationId"]?.value.string }

    /// Indicates whether an activation of the user may list it. One without flags sees operations for any flag.
    package func isVisible(to activation: ServerActivation) -> Bool {
        (self.userID?.isExactly(activation.userID) ?? true)
            && self.applicationID.isExactly(activation.applicationID)
            && self.activationID.map { $0 == activation.id } ?? true
            && self.activationFlag.map { flag in
                activation.flags.isEmpty || activation.flags.contains { $0.isExactly(flag) }
            } ?? true
    }
}
