import CStatusHTTP
import Glibc
import Synchronization

/// A small HTTP server for what watches the daemon: `GET` and `HEAD` of a few paths, answered at once from memory.
///
/// It is libmicrohttpd, on one thread of its own: it answers while all else is busy or stuck, and can say so.
final class StatusServer: Sendable {
    /// An answer.
    struct Response: Sendable {
        var status: UInt32
        var contentType: String
        var body: [UInt8]
    }

    typealias Respond = @Sendable (_ path: String) -> Response?

    /// The reason why it does not listen.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let connectionLimit: UInt32 = 32
    private static let connectionMemoryLimit = 8 * 1024
    private static let timeoutSeconds: UInt32 = 10

    /// The object that C holds, retained from start to stop.
    private final class Context: Sendable {
        let respond: Respond
        init(_ respond: @escaping Respond) { self.respond = respond }
    }

    private struct Handle: @unchecked Sendable {
        // Used once, to stop, by the caller that takes it out of the lock.
        let daemon: OpaquePointer
        let context: Unmanaged<Context>
    }

    /// The port that was asked for, or the free one that was found.
    let port: UInt16
    private let handle: Mutex<Handle?>

    /// Listens, on a port that nobody else listens on.
    ///
    /// - Parameters:
    ///   - host: A numeric address.
    ///   - port: 0 is any that is free.
    ///   - respond: Answers a path; `nil` is 404. Runs on the server's thread, so it must return at once.
    /// - Throws: ``Failure``.
    init(host: String, port: UInt16, respond: @escaping Respond) throws {
        let context = Unmanaged.passRetained(Context(respond))
        let daemon = Self.withAddress(host, port) { address in
            CStatusHTTP_start(
                address,
                Self.connectionLimit,
                Self.connectionMemoryLimit,
                Self.timeoutSeconds,
                { context, connection, path, method, _, _, uploadSize, _ in
                    StatusServer.handle(context, connection, path, method, uploadSize)
                },
                context.toOpaque()
            )
        }
        guard let daemon = daemon ?? nil else {
            let reason = daemon == nil ? "it is no numeric address" : String(cString: strerror(errno))
            context.release()
            throw Failure(description: "cannot listen on \(Self.url(host: host, port: port)): \(reason)")
        }
        self.port = CStatusHTTP_port(daemon)
        self.handle = Mutex(Handle(daemon: daemon, context: context))
    }

    deinit { self.stop() }

    /// Closes the socket and every connection. The next calls do nothing.
    func stop() {
        guard let handle = self.handle.withLock({ $0.take() }) else { return }
        MHD_stop_daemon(handle.daemon)  // no callback runs afterwards
        handle.context.release()
    }

    static func url(host: String, port: UInt16) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }

    /// - Returns: `nil` when the host is no numeric address.
    private static func withAddress<Result>(
        _ host: String,
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>) -> Result
    ) -> Result? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        return found.pointee.ai_addr.map { body($0) }
    }

    // MARK: On the server's thread

    private static func handle(
        _ context: UnsafeMutableRawPointer?,
        _ connection: OpaquePointer?,
        _ path: UnsafePointer<CChar>?,
        _ method: UnsafePointer<CChar>?,
        _ uploadSize: UnsafeMutablePointer<Int>?
    ) -> MHD_Result {
        guard let context, let connection, let path, let method else { return .NO }
        let isReading = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0
        guard isReading, uploadSize?.pointee == 0 else {
            return Self.queue(.text(405, "only GET and HEAD\n"), on: connection)
        }
        let respond = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().respond
        return Self.queue(respond(String(cString: path)) ?? .text(404, "no such path\n"), on: connection)
    }

    private static func queue(_ answer: Response, on connection: OpaquePointer) -> MHD_Result {
        let response = answer.body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count,
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY
            )
        }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }  // the library keeps its own reference
        MHD_add_response_header(response, "Content-Type", answer.contentType)
        MHD_add_response_header(response, "Cache-Control", "no-store")
        if answer.status == 405 { MHD_add_response_header(response, "Allow", "GET, HEAD") }
        return MHD_queue_response(connection, answer.status, response)
    }
}

extension StatusServer.Response {
    static func text(_ status: UInt32, _ text: String) -> Self {
        Self(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }
}
