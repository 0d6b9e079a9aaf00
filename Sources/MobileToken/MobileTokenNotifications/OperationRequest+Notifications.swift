import ExactJSON
package import MobileToken
package import PowerAuthClient

extension OperationRequest {
    package static func inboxPage(_ page: Int, size: Int, onlyUnread: Bool) -> [UInt8] {
        self.envelope([
            "page": .number(JSONNumber(page)), "size": .number(JSONNumber(size)), "onlyUnread": .bool(onlyUnread),
        ])
    }

    /// Registers a push token at a server of a release; `nil` where it does not say.
    package static func pushRegistration(
        _ registration: PushService.Registration,
        at release: ServerRelease?
    ) throws(MobileTokenError) -> [UInt8] {
        var request: JSONObject = [
            "platform": .string(registration.platform.name(at: release)), "token": .string(registration.token),
        ]
        request["environment"] = registration.environment.map { .string($0.description) }
        return try self.envelope([:], request)
    }
}
