import EmulatorHTTP
import EmulatorMessages

/// Runs `body` with an HTTP endpoint on loopback, like a bank's for callbacks, and closes it at the end.
///
/// ```swift
/// try await withCallbackReceiver({ bot.callbackReceived($0) }) { url in
///     // … tell the server of `url`, as `callbackUrl` of an operation, say …
/// }
/// ```
///
/// - Parameters:
///   - receive: Gets the body of each `POST` request, and returns the response's status. An invalid status becomes 500.
///   - body: Gets the address.
@discardableResult
public func withCallbackReceiver<Result>(
    _ receive: @escaping @Sendable ([UInt8]) async -> Int,
    _ body: (_ url: String) async throws -> Result
) async throws -> Result {
    let server = try HTTPServer(host: "127.0.0.1", port: 0)
    let service = Task {
        await server.run { request in
            guard request.method == "POST" else { return ServerResponse(status: 405, body: .bytes([])) }
            let status = await receive(request.body)
            return ServerResponse(status: (200...599).contains(status) ? status : 500, body: .bytes([]))
        }
    }
    do {
        let result = try await body("http://127.0.0.1:\(server.port)/callbacks")
        service.cancel()
        await service.value
        return result
    } catch {
        service.cancel()
        await service.value
        throw error
    }
}
