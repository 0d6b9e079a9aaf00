import Basics
import ExactJSON
import MobileTokenCloud

/// The bank's own push messages to a user's devices.
enum CloudPushEndpoints {
    static let routes: [Backend.Route] = [.cloud(CloudAPI.push, Self.send)]

    /// Records the messages. A user without a device gets none, which is no error.
    private static func send(
        _ bank: inout Backend,
        _ request: CloudClient.NewPush,
        _ context: inout RequestContext
    ) throws(Refusal) {
        let userID = request.userID
        let registrationID = request.registrationID
        if let registrationID {
            guard bank.state.activations[registrationID]?.userID.isExactly(userID) == true else {
                throw .unknownRegistration
            }
            context.activationID = registrationID
        }
        let payload = try Self.payload(of: request)
        context.pushes = bank.devices(ofUser: userID) { registrationID ?? $0.id == $0.id }
            .map { $0.message(.message, userID, payload) }
    }

    /// Returns the devices' payload: the extras, and the visible content.
    private static func payload(of request: CloudClient.NewPush) throws(Refusal) -> JSONObject {
        var aps: JSONObject = [:]
        if request.isSilent == true {
            aps["content-available"] = 1
        } else {
            guard let title = request.title, !title.isBlank else { throw .pushMessage("Title must not be blank.") }
            guard let message = request.message, !message.isBlank else {
                throw .pushMessage("Message must not be blank.")
            }
            aps["alert"] = ["title": .string(title), "body": .string(message)]
            aps["sound"] = request.sound.map { .string($0) }
        }
        var payload = request.extras ?? [:]
        guard payload["aps"] == nil else { throw .pushMessage("'aps' is no name of an extra") }
        payload["aps"] = .object(aps)
        return payload
    }
}

extension String {
    /// Indicates whether it has only white space.
    var isBlank: Bool { self.unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}
