import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// Push messages of the bank's own, for the devices of a user.
enum CloudPushEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(
            "POST",
            "/v2/messages/send",
            of: .powerAuthCloud,
            "Pushes a message to the devices of a user.",
            takes: .required(.newPush),
            gives: .done,
            Self.send
        )
    ]

    /// Nothing is kept but what would have been pushed. A user without a device gets nothing, which is no mistake.
    static func send(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let userID = try request.string("userId")
        let registrationID = try request.optionalString("registrationId")
        if let registrationID {
            guard bank.state.activations[registrationID]?.userID.isExactly(userID) == true else {
                throw .unknownRegistration
            }
            context.activationID = registrationID
        }
        let payload = try Self.payload(of: request)
        context.pushes = bank.devices(ofUser: userID) { registrationID ?? $0.id == $0.id }
            .map { $0.message(.message, userID, payload) }
        return .ok
    }

    /// What devices get: the extras, and what the platform shows.
    private static func payload(of request: JSONObject) throws(Refusal) -> JSONObject {
        var aps: JSONObject = [:]
        if try request.optionalBool("silent") ?? false {
            aps["content-available"] = 1
        } else {
            let (title, message) = (try request.optionalString("title"), try request.optionalString("message"))
            guard let title, !title.isBlank else { throw .pushMessage("Title must not be blank.") }
            guard let message, !message.isBlank else { throw .pushMessage("Message must not be blank.") }
            aps["alert"] = ["title": .string(title), "body": .string(message)]
            aps["sound"] = try request.optionalString("sound").map { .string($0) }
        }
        var payload = try request.optionalObject("extras") ?? [:]
        guard payload["aps"] == nil else { throw .pushMessage("'aps' is no name of an extra") }
        payload["aps"] = .object(aps)
        return payload
    }
}

extension String {
    /// Whether there is nothing in it to read.
    var isBlank: Bool { self.unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}
