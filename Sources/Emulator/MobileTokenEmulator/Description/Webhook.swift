import APIDescriptions
import EmulatorBackend
import ExactJSON

/// A request sent by the server: to a callback's, an operation's or the configured address.
struct Webhook: Sendable {
    let name: String
    let summary: String
    let body: Schema
    let isTriedAgain: Bool

    static let all = [
        Self(
            name: "operationChanged",
            summary: "Tells that an operation was made, decided, canceled or expired, or that an approval has failed.",
            body: .operationCallback,
            isTriedAgain: true
        ),
        Self(
            name: "activationChanged",
            summary: "Tells that the status of an activation has changed.",
            body: .activationCallback,
            isTriedAgain: true
        ),
        Self(
            name: "pushMessage",
            summary: "Tells what a push server would send to one device, at the address of --push-url.",
            body: .pushDelivery,
            isTriedAgain: false
        ),
    ]

    var json: JSONValue {
        [
            "post": [
                "operationId": .string(self.name), "summary": .string(self.summary),
                "description": .string(self.isTriedAgain ? Self.schedule : "It is tried once."),
                "requestBody": ["required": true, "content": ["application/json": OpenAPIDocument.content(self.body)]],
                "responses": ["2XX": ["description": "It was taken."], "default": ["description": "It was not."]],
            ]
        ]
    }

    /// The retry schedule after any status outside 200 to 299.
    private static var schedule: String {
        let pauses = (1...8).map { attempt in Double(RetrySchedule.pause(afterAttempt: attempt)) / 1000 }
        let shown = pauses.map { String($0) }.joined(separator: ", ")
        return """
            Type and identifier are always there, the other members if the callback names them among its attributes; the \
            callbackUrl of an operation is told all. A callback is tried as often as its maxAttempts says, once by default, \
            and a callbackUrl once. The pauses between attempts are \(shown) seconds, and 32 from then on, by the server's \
            clock. After 200 failures in a row a callback is paused for 60 seconds, and after each further one again.
            """
    }
}

extension Schema {
    static let pushDelivery = Self.object(
        "PushDelivery",
        [
            .required("type", .oneOf(["PUSH"])), .required("activationId", .string), .required("userId", .string),
            .required("platform", .oneOf(PushDevice.platforms), example: "fcm"),
            .required("token", .string, "The token of the device at the platform."), .optional("environment", .string),
            .required("payload", .open([.optional("messageType", .string)]), "The content that the device would get."),
        ]
    )
}
