package import APIDescriptions

/// The API of PowerAuth Cloud, by which a bank registers devices and asks for decisions.
///
/// Each call is described once: the development server answers it, and a client can send it. Members and calls that the
/// documentation of PowerAuth Cloud does not have are marked as ours.
package enum CloudAPI {
    /// Describes a call.
    ///
    /// - Parameters:
    ///   - isOurs: `true` if no real server has the call.
    ///   - fills: `true` if the call can be refused because the server is full.
    static func endpoint<each Part: Sendable, Output>(
        _ method: String,
        _ path: String,
        isOurs: Bool = false,
        fills: Bool = false,
        _ summary: String,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>
    ) -> Endpoint<(repeat each Part), Output> {
        var refusals = [400, 401, 413, 500, 503]
        if isOurs { refusals.append(404) }
        if method == "POST" || method == "PUT" { refusals.append(415) }
        if fills { refusals.append(507) }
        let description = RouteDescription(
            summary,
            access: .credentials,
            response: .json(output.schema),
            refusals: refusals.sorted(),
            origin: isOurs ? .emulator : .powerAuthCloud
        )
        return Endpoint(method, path, takes: repeat each parts, gives: output, description)
    }
}

/// Of a list, the elements of one user.
package struct UserFilter: Described {
    package var userID: String?

    package static let fields = FieldTable(
        "UserFilter",
        UserFilter.init(userID:),
        .optional("userId", \.userID, .word, "Lists those of this user only.")
    )
}
