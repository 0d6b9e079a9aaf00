/// An answer, with what the journal says of it.
struct Reply: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = [("Content-Type", "application/json")]
    var body: [UInt8] = []
    /// Whether the request did what it asked for; the reason of a refusal is for the reader of the journal, and may
    /// say more than the answer does.
    var verdict: Verdict = .accepted
    /// The activation that the request named, whether or not it proved to be it.
    var activationID: String?
    /// The activation's counter before the request, when the request was one that may move it.
    var counterBefore: UInt64?
    /// The activation's counter after the request.
    var counterAfter: UInt64?
    /// What changed.
    var events: [BackendEvent] = []
}

/// What became of a request.
enum Verdict: Sendable, Hashable {
    case accepted
    case refused(reason: String)
}

/// One thing that changed in the backend's state.
struct BackendEvent: Sendable, Hashable {
    enum Subject: String, Sendable, Hashable {
        case activation, operation, message, device
    }

    var subject: Subject
    /// Of the activation, the operation, …
    var id: String
    /// Its status now, in the words of the cloud API (`ACTIVE`, `PENDING`, …), if it has one.
    var status: String?
}
