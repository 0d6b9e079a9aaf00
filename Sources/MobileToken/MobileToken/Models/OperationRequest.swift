package import ExactJSON
package import Foundation
package import MobileTokenErrors
import PowerAuthClient

/// The request bodies of the Mobile Token API.
package enum OperationRequest {
    /// A request without parameters.
    package static let empty = Array("{}".utf8)

    /// Authorizes an operation, with its data exactly as they came.
    ///
    /// - Parameters:
    ///   - sent: The current time of the server.
    ///   - serverDate: Converts a local time to the server's.
    package static func authorize(
        _ operation: some AuthorizableOperation,
        sent: Date,
        serverDate: (_ localDate: Date) -> Date
    ) throws(MobileTokenError) -> [UInt8] {
        var request: JSONObject = [:]
        if let check = operation.proximityCheck {
            request["proximityCheck"] = .object(check.json(sent: sent, serverDate: serverDate))
        }
        request["mobileTokenData"] = operation.mobileTokenData.map { .object($0) }
        let received: JSONObject = ["id": .string(operation.id), "data": .string(operation.data)]
        return try self.envelope(received, request)
    }

    package static func reject(
        _ operation: some AuthorizableOperation,
        reason: UserOperation.RejectionReason
    ) throws(MobileTokenError) -> [UInt8] {
        var request: JSONObject = ["reason": .string(reason.rawValue)]
        request["mobileTokenData"] = operation.mobileTokenData.map { .object($0) }
        return try self.envelope(["id": .string(operation.id)], request)
    }

    /// Names an operation or a message.
    package static func id(_ id: String) throws(MobileTokenError) -> [UInt8] {
        try self.envelope([:], ["id": .string(id)])
    }

    /// - Parameters:
    ///   - received: Members as the server sent them.
    ///   - given: Members that the application gives.
    /// - Throws: `invalidRequest` when one of these holds the character NUL, which servers cannot keep.
    package static func envelope(
        _ received: JSONObject,
        _ given: JSONObject
    ) throws(MobileTokenError) -> [UInt8] {
        try TextRule.check(given)
        return self.envelope(JSONObject(received.members + given.members))
    }

    package static func envelope(_ object: JSONObject) -> [UInt8] {
        JSONValue.object(["requestObject": .object(object)]).serialized()
    }
}
