import ExactJSON
package import Foundation
import PowerAuthProtocol

/// The bodies of the Mobile Token API's requests.
package enum RequestBody {
    /// A request without parameters.
    package static let empty = Array("{}".utf8)

    /// Authorizes an operation. The operation's data go out exactly as they came in.
    ///
    /// - Parameters:
    ///   - sent: The present in the server's time.
    ///   - serverDate: Returns the server's time at a moment of the local clock.
    package static func authorize(
        _ operation: some AuthorizableOperation,
        sent: Date,
        serverDate: (_ localDate: Date) -> Date
    ) -> [UInt8] {
        var request: JSONObject = ["id": .string(operation.id), "data": .string(operation.data)]
        if let check = operation.proximityCheck {
            request["proximityCheck"] = .object(check.json(sent: sent, serverDate: serverDate))
        }
        request["mobileTokenData"] = operation.mobileTokenData.map { .object($0) }
        return self.envelope(request)
    }

    /// Rejects an operation.
    package static func reject(_ operation: some AuthorizableOperation, reason: UserOperation.RejectionReason)
        -> [UInt8]
    {
        var request: JSONObject = ["id": .string(operation.id), "reason": .string(reason.rawValue)]
        request["mobileTokenData"] = operation.mobileTokenData.map { .object($0) }
        return self.envelope(request)
    }

    /// Names an operation or a message.
    package static func id(_ id: String) -> [UInt8] {
        self.envelope(["id": .string(id)])
    }

    /// Asks for a page of the inbox.
    package static func inboxPage(_ page: Int, size: Int, onlyUnread: Bool) -> [UInt8] {
        self.envelope([
            "page": .number(JSONNumber(page)), "size": .number(JSONNumber(size)), "onlyUnread": .bool(onlyUnread),
        ])
    }

    /// Registers a push token.
    package static func pushRegistration(_ registration: PushService.Registration) -> [UInt8] {
        var request: JSONObject = [
            "platform": .string(registration.platform.description), "token": .string(registration.token),
        ]
        request["environment"] = registration.environment.map { .string($0.description) }
        return self.envelope(request)
    }

    private static func envelope(_ object: JSONObject) -> [UInt8] {
        JSONValue.object(["requestObject": .object(object)]).serialized()
    }
}
