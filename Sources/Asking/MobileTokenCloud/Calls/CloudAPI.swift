import APIDescriptions

/// The API of PowerAuth Cloud, with which a bank registers devices and requests decisions.
///
/// Each call has one description: the development server handles it, and a client can send it. Members and calls missing from
/// PowerAuth Cloud's documentation are marked as ours.
package enum CloudAPI {
    /// Describes a call.
    ///
    /// - Parameters:
    ///   - isOurs: `true` if no real server has the call.
    ///   - fills: `true` if the call can be refused because the server is full.
    static func endpoint<each Part: Sendable, Output>(
        _ line: CallLine,
        isOurs: Bool = false,
        fills: Bool = false,
        _ summary: String,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>
    ) -> Endpoint<(repeat each Part), Output> {
        var refusals = [400, 401, 413, 500, 503]
        if isOurs { refusals.append(404) }
        if line.method == "POST" || line.method == "PUT" { refusals.append(415) }
        if fills { refusals.append(507) }
        let description = RouteDescription(
            summary,
            access: .credentials,
            response: .json(output.schema),
            refusals: refusals.sorted(),
            origin: isOurs ? .emulator : .powerAuthCloud
        )
        return Endpoint(line, takes: repeat each parts, gives: output, description)
    }
}
