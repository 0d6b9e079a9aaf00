package import APIDescriptions

extension CloudAPI {
    package static let createMessage = Self.endpoint(
        "POST /v2/inbox/messages",
        fills: true,
        "Puts a message into a user's inbox.",
        takes: Call.body(CloudClient.NewMessage.form),
        gives: CloudClient.Message.form
    )

    package static let push = Self.endpoint(
        "POST /v2/messages/send",
        "Pushes a message to the devices of a user.",
        takes: Call.body(CloudClient.NewPush.form),
        gives: .done
    )
}

package enum CloudMessageFormat: String, Sendable, Codable, CaseIterable {
    case text, html
}
