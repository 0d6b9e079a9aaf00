import Basics
import ExactJSON
import Foundation
import HTTPClientTransport

extension CloudError {
    /// Returns the error that a response stands for; `nil` for a success.
    ///
    /// Every status but 2xx is an error, and `{"status":"ERROR"}` is one under any status.
    ///
    /// - Parameters:
    ///   - json: The body, where it can be read.
    ///   - isRead: `true` if the call changes nothing.
    init?(_ response: HTTPResponse, _ json: JSONValue?, date: Date?, isRead: Bool) {
        let envelope = Envelope(json)
        guard envelope != nil || !(200..<300).contains(response.status) else { return nil }
        // Only in the server's own envelope is a code the server's word.
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

    /// Returns whether the server itself refused, and not because it or somebody behind it failed, who may have done the work.
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

    /// The shape of the server's errors. A member of another type, or given twice, reads as missing.
    private struct Envelope {
        let code: String?
        let message: String?
        let violations: [Violation]

        /// - Returns: `nil` for what does not call itself an error. One `status` that does suffices: a second one takes nothing back.
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
