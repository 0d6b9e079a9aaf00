import Basics
import CMicroHTTPD
import Dispatch
import EmulatorMessages
import Glibc
import PowerAuthCrypto
import Synchronization

/// The library's thread and its callbacks.
///
/// C receives three objects as raw pointers, each retained once while C knows it: the context from start to stop, a connection
/// from its acceptance to its close, and an exchange from its request line to its completion.
final class ServerDaemon: Sendable {
    private struct Handle: @unchecked Sendable {
        // Used once, to stop, by the caller that takes it out of the lock.
        let pointer: OpaquePointer
    }

    private let context: ServerContext
    private let handle: Mutex<Handle?>

    /// - Parameter certificate: The server's TLS certificate; `nil` serves plain HTTP.
    init(
        socket: ListeningSocket,
        certificate: SelfSignedCertificate?,
        context: ServerContext
    ) throws(ListeningError) {
        guard certificate == nil || MHD_is_feature_supported(.FEATURE_TLS) == .YES else {
            close(socket.descriptor)
            throw ListeningError(.cannotListen, "This machine's libmicrohttpd was built without TLS")
        }
        let lent = Unmanaged.passRetained(context)
        guard let daemon = Self.start(socket, certificate, context.limits, lent.toOpaque()) else {
            let code = errno
            lent.release()
            close(socket.descriptor)
            throw ListeningError(.cannotListen, "The HTTP server did not start: \(String(cString: strerror(code)))")
        }
        self.context = context
        self.handle = Mutex(Handle(pointer: daemon))
    }

    /// Starts the library, which reads key and certificate before this returns, and keeps neither.
    private static func start(
        _ socket: ListeningSocket,
        _ certificate: SelfSignedCertificate?,
        _ limits: HTTPServer.Limits,
        _ context: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        let start = { (privateKey: UnsafePointer<CChar>?) in
            CMicroHTTPD_start_daemon(
                socket.descriptor,
                limits.connections,
                limits.headerBytes,
                UInt32(clamping: max(1, limits.patience.bounded.components.seconds)),
                privateKey,
                certificate?.pem,
                context,
                { context, connection, _, method, version, upload, uploadSize, exchange in
                    ServerDaemon.handle(context, connection, method, version, upload, uploadSize, exchange)
                },
                { context, target, connection in ServerDaemon.beginRequest(context, target, connection) },
                { context, _, exchange, _ in ServerDaemon.completeRequest(context, exchange) },
                { context, connection, socketContext, event in
                    ServerDaemon.connectionChanged(context, connection, socketContext, event)
                }
            )
        }
        guard let key = certificate?.privateKeyPEM else { return start(nil) }
        // The library requires a final zero.
        let terminated = SecretBytes(count: key.count + 1) { copy in key.withUnsafeBytes { copy.copyMemory(from: $0) } }
        return terminated.withUnsafeBytes { start($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }

    deinit {
        // Reached with a handle only if the server was never run; stopping joins an idle thread.
        if let handle = self.handle.withLock({ $0.take() }) { Self.stop(handle, self.context) }
    }

    /// Ends every connection and closes the socket. Further calls have no effect.
    func stop() async {
        guard let handle = self.handle.withLock({ $0.take() }) else { return }
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            // Waits for the server's thread, which must not block the cooperative pool.
            DispatchQueue.global().async {
                Self.stop(handle, self.context)
                done.resume()
            }
        }
    }

    private static func stop(_ handle: Handle, _ context: ServerContext) {
        context.endAll()  // the library forbids stopping with suspended connections
        MHD_stop_daemon(handle.pointer)
        context.received.finish()
        Unmanaged.passUnretained(context).release()
    }
}

// The callbacks. All run on the library's thread.
extension ServerDaemon {
    private static func context(_ pointer: UnsafeMutableRawPointer?) -> ServerContext? {
        pointer.map { Unmanaged<ServerContext>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func connectionChanged(
        _ contextPointer: UnsafeMutableRawPointer?,
        _ handle: OpaquePointer?,
        _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ event: MHD_ConnectionNotificationCode
    ) {
        guard let context = Self.context(contextPointer), let handle, let socketContext else { return }
        if event == .CONNECTION_NOTIFY_STARTED {
            let connection = ServerConnection(handle, deadline: context.nextDeadline)
            socketContext.pointee = Unmanaged.passRetained(connection).toOpaque()
            context.add(connection)
        } else if let pointer = socketContext.pointee {
            let connection = Unmanaged<ServerConnection>.fromOpaque(pointer).takeRetainedValue()
            connection.didClose()
            context.remove(connection)
        }
    }

    /// Handles a request line: creates the object for the request's further callbacks.
    private static func beginRequest(
        _ contextPointer: UnsafeMutableRawPointer?,
        _ target: UnsafePointer<CChar>?,
        _ handle: OpaquePointer?
    ) -> UnsafeMutableRawPointer? {
        guard let target, let handle, let pointer = CMicroHTTPD_socket_context(handle) else { return nil }
        let connection = Unmanaged<ServerConnection>.fromOpaque(pointer).takeUnretainedValue()
        let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
        // The library parses the parameters before its next callback, and stays silent if there are too many.
        if let context = Self.context(contextPointer),
            bytes.count(where: { $0 == UInt8(ascii: "&") }) >= context.limits.queryParameters
        {
            connection.end(
                saying: context.isSecure
                    ? "" : "HTTP/1.1 414 URI Too Long\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        }
        let exchange = ServerExchange(target: bytes, connection: connection)
        return Unmanaged.passRetained(exchange).toOpaque()
    }

    private static func completeRequest(
        _ contextPointer: UnsafeMutableRawPointer?,
        _ exchangePointer: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) {
        guard let context = Self.context(contextPointer), let pointer = exchangePointer?.pointee else { return }
        let exchange = Unmanaged<ServerExchange>.fromOpaque(pointer).takeRetainedValue()
        exchangePointer?.pointee = nil
        context.release(bodyBytes: exchange.reservedBytes)
        exchange.connection.receive(by: context.nextDeadline)
    }

    /// Called for the complete headers, for each piece of the body, for its end, and after the connection was resumed. `MHD_NO`
    /// closes the connection.
    private static func handle(
        _ contextPointer: UnsafeMutableRawPointer?,
        _ handle: OpaquePointer?,
        _ method: UnsafePointer<CChar>?,
        _ version: UnsafePointer<CChar>?,
        _ upload: UnsafePointer<CChar>?,
        _ uploadSize: UnsafeMutablePointer<Int>?,
        _ exchangePointer: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard
            let context = Self.context(contextPointer), let handle, let method, let version, let uploadSize,
            let pointer = exchangePointer?.pointee
        else { return .NO }
        let exchange = Unmanaged<ServerExchange>.fromOpaque(pointer).takeUnretainedValue()
        guard !exchange.connection.isEnded else { return .NO }
        let piece = UnsafeRawBufferPointer(start: upload, count: upload == nil ? 0 : uploadSize.pointee)
        uploadSize.pointee = 0
        let step = exchange.advance(
            receiving: piece,
            method: method,
            headers: { Self.headers(of: handle) },
            isUnambiguous: { address, count in
                let head = RequestHead(
                    method: UnsafeRawPointer(method),
                    targetAddress: address,
                    targetCount: count,
                    version: UnsafeRawPointer(version),
                    size: CMicroHTTPD_head_size(handle)
                )
                return head.isUnambiguous
            },
            context: context
        )
        return Self.take(step, of: exchange, on: handle, context)
    }

    private static func take(
        _ step: ServerExchange.Step,
        of exchange: ServerExchange,
        on handle: OpaquePointer,
        _ context: ServerContext
    ) -> MHD_Result {
        switch step {
        case .readOn:
            return .YES
        case .refuse(let status):
            return ServerResponse.refusal(status).queue(on: handle, stream: nil)
        case .handOut(let request):
            guard exchange.connection.suspend() else { return .NO }
            context.received.yield((exchange, request))
            return .YES
        case .respond(let response, let stream):
            if case .reset = response.body {
                exchange.connection.reset()
                return .NO
            }
            if stream == nil { exchange.connection.respond(by: context.nextDeadline) }
            return response.queue(on: handle, stream: stream)
        case .close:
            return .NO
        }
    }

    private static func headers(of handle: OpaquePointer) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &headers) { headers in
            _ = MHD_get_connection_values_n(
                handle,
                .HEADER_KIND,
                { headers, _, name, nameSize, value, valueSize in
                    let name = UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameSize)
                    let value = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
                    headers?.assumingMemoryBound(to: [(name: String, value: String)].self).pointee
                        .append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
                    return .YES
                },
                headers
            )
        }
        return headers
    }
}

extension ServerResponse {
    /// Returns the server's own refusals, in the format of API errors.
    static func refusal(_ status: Int) -> ServerResponse {
        let message =
            switch status {
            case 400: "The request does not say in one way what its path is and where its body ends"
            case 413: "The request body is too large"
            default: "The server holds too many requests"
            }
        var response = ServerResponse.error(status, code: "INVALID_REQUEST", message: message)
        // The following bytes may be a body or a request.
        if status == 400 { response.headers.append(("Connection", "close")) }
        return response
    }

    /// Passes the response to the library. Called on its thread, in its callback for the request.
    func queue(on handle: OpaquePointer, stream: BodyStream?) -> MHD_Result {
        guard let response = self.makeResponse(stream: stream) else { return .NO }
        defer { MHD_destroy_response(response) }  // the library keeps its own reference
        for header in self.headers where MHD_add_response_header(response, header.name, header.value) != .YES {
            return .NO
        }
        return MHD_queue_response(handle, UInt32(clamping: self.status), response)
    }

    private func makeResponse(stream: BodyStream?) -> OpaquePointer? {
        switch self.body {
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY
                )
            }
        case .produced(let length, _):
            // C holds a retained reference to the stream until the last callback closes it.
            guard let stream else { return nil }
            return MHD_create_response_from_callback(
                length.map(UInt64.init) ?? UInt64.max,
                16 * 1024,
                { stream, _, buffer, capacity in
                    guard let stream, let buffer else { return -2 }
                    return Unmanaged<BodyStream>.fromOpaque(stream).takeUnretainedValue()
                        .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
                },
                Unmanaged.passRetained(stream).toOpaque(),
                { stream in
                    guard let stream else { return }
                    Unmanaged<BodyStream>.fromOpaque(stream).takeRetainedValue().close()
                }
            )
        case .reset:
            return nil
        }
    }
}
