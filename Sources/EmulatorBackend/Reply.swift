package import EmulatorMessages

/// A response, with what the journal says of it.
package struct Reply: Sendable {
    package var response: ServerResponse
    /// Indicates whether the request did what it asked for; the reason of a refusal is for the reader of the journal, and may
    /// say more than the response does.
    package var verdict: Verdict = .accepted
    /// The activation that the request named, whether or not it proved to be it.
    package var activationID: String? { self.response.activationID }
    /// The user that the request named, for calls that are about a user's operations.
    package var userID: String?
    /// The activation's counter before the request, when the request was one that may move it.
    package var counterBefore: UInt64?
    /// The activation's counter after the request.
    package var counterAfter: UInt64?
    /// The changes.
    package var events: [BackendEvent] = []
    /// The messages that are pushed to devices without anything having changed.
    package var pushes: [PushMessage] = []
    /// The findings beyond the response.
    package var inspection = RequestInspection()

    package var status: Int { self.response.status }
    package var headers: [(name: String, value: String)] { self.response.headers }
    package var body: [UInt8] { self.response.bytes }
}

extension Reply {
    package init(status: Int, body: [UInt8] = [], verdict: Verdict = .accepted) {
        self.init(
            response: ServerResponse(status: status, headers: ServerResponse.jsonHeaders, body: .bytes(body)),
            verdict: verdict
        )
    }

    init(_ response: ServerResponse, _ context: RequestContext) {
        var response = response
        response.activationID = context.activationID
        response.warnings = context.inspection.warnings.map(\.message)
        self.init(
            response: response,
            verdict: context.refusal.map(Verdict.refused) ?? .accepted,
            userID: context.userID,
            counterBefore: context.counterBefore,
            counterAfter: context.counterAfter,
            events: context.events,
            pushes: context.pushes,
            inspection: context.inspection
        )
    }

    init(_ refusal: Refusal, _ context: RequestContext) {
        self.init(refusal.response, context)
        self.verdict = .refused(reason: refusal.reason)
    }

    /// A response that is made without asking the backend.
    package static func error(
        _ status: Int,
        code: String? = nil,
        message: String,
        because reason: String? = nil
    ) -> Self {
        Self(
            response: .error(status, code: code ?? "ERROR_GENERIC", message: message),
            verdict: .refused(reason: reason ?? message)
        )
    }
}

/// The verdict on a request.
package enum Verdict: Sendable, Hashable {
    case accepted
    case refused(reason: String)
}

/// One thing that changed in the backend's state.
package struct BackendEvent: Sendable, Hashable {
    package enum Subject: String, Sendable, Hashable {
        case activation, operation, message, device
    }

    package var subject: Subject
    /// Of the activation, the operation, …
    package var id: String
    /// Its status now, in the words of the cloud API (`ACTIVE`, `PENDING`, …), if it has one.
    package var status: String?
    /// Indicates whether it was made just now.
    package var isNew = false
    /// Indicates whether the bank and the devices are told of it. Real servers keep to themselves that an operation was claimed.
    package var isTold = true
    /// The device of an activation that takes no push messages any more.
    package var lastDevice: PushDevice?
}
