package import EmulatorMessages

/// A response with its journal data.
package struct Reply: Sendable {
    package var response: ServerResponse
    /// The verdict; its reason is for the journal, and may say more than the response.
    package var verdict: Verdict = .accepted
    /// The activation that the request named, verified or not.
    package var activationID: String? { self.response.activationID }
    /// The user that the request named, for calls on a user's operations.
    package var userID: String?
    /// The activation's counter before the request, if the request may move it.
    package var counterBefore: UInt64?
    package var counterAfter: UInt64?
    package var events: [BackendEvent] = []
    /// The push messages that are sent without a change.
    package var pushes: [PushMessage] = []
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

    /// A refusal made without the backend.
    package init(_ refusal: Refusal) {
        self.init(response: refusal.response, verdict: .refused(reason: refusal.reason))
    }

    /// A response made without the backend.
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

package enum Verdict: Sendable, Hashable {
    case accepted
    case refused(reason: String)
}

/// A change in the backend's state.
package struct BackendEvent: Sendable, Hashable {
    package enum Subject: String, Sendable, Hashable {
        case activation, operation, message, device
    }

    package var subject: Subject
    /// The identifier of the changed object.
    package var id: String
    /// The object's current status in the cloud API (`ACTIVE`, `PENDING`, …), if it has one.
    package var status: String?
    /// Indicates whether it was just created.
    package var isNew = false
    /// Indicates whether the bank and the devices are notified. Real servers do not report claims.
    package var isTold = true
    /// Indicates whether it just happened. The server reports an expired operation some seconds later.
    package var isChange = true
    /// The former push device of an activation.
    package var lastDevice: PushDevice?
}
