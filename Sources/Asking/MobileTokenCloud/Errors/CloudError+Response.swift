import Basics
import ExactJSON
import Foundation
import HTTPClientTransport

extension CloudError {
    /// Returns the error in a response; `nil` for a success. Every status except 2xx is an error, and so is `{"status":"ERROR"}`
    /// with any status.
    ///
    /// - Parameters:
    ///   - json: The body, if readable.
    ///   - isRead: `true` if the call is read-only.
    init?(_ response: HTTPResponse, _ json: JSONValue?, date: Date?, isRead: Bool) {
        let envelope = Envelope(json)
        guard envelope != nil || !(200..<300).contains(response.status) else { return nil }
        // A code counts only in the server's own envelope.
        let code = envelope?.code.map(Code.init(serverCode:))
        let isRefusal = code.map { Self.isRefusal($0, response.status) } ?? false
        self.init(
            code ?? .httpStatus,
            envelope?.message ?? Self.message(ofStatus: response.status),
            httpStatus: response.status,
            serverCode: envelope?.code,
            violations: envelope?.violations ?? [],
            retryAfter: response.headers["Retry-After"].flatMap { RetryAfter.duration($0, now: date ?? Date()) },
            isOutcomeUnknown: !isRead && !isRefusal
        )
    }

    /// Returns whether the server itself refused. A failure of it or a server behind it does not count, because the work may be
    /// done.
    private static func isRefusal(_ code: Code, _ status: Int) -> Bool {
        status < 500 && status != 408 && code != .serverFailed && code != .upstreamFailed
    }

    private static func message(ofStatus status: Int) -> String {
        switch status {
        case 300..<400: "The server redirects, which is not followed"
        case 401: "Somebody asks for credentials in another way than PowerAuth Cloud does"
        default: "The response is an error without the server's own words, such as the page of a proxy"
        }
    }

    /// The server's error envelope. Members of the wrong type or given twice count as missing.
    private struct Envelope {
        let code: String?
        let message: String?
        let violations: [Violation]

        /// - Returns: `nil` unless one `status` is `ERROR`, even beside another `status`.
        init?(_ json: JSONValue?) {
            let isError = json?.object?.members.contains { member in
                member.key.isExactly("status") && member.value.string?.isExactly("ERROR") == true
            }
            guard isError == true else { return nil }
            let content = json?["responseObject"]
            self.code = content?["code"]?.string
            self.message = content?["message"]?.string
            self.violations = (content?["violations"]?.array ?? []).prefix(100).compactMap { violation in
                guard let field = violation["fieldName"]?.string else { return nil }
                return Violation(field: field, hint: violation["hint"]?.string ?? "")
            }
        }
    }
}
