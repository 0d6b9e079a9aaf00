package import Foundation
package import HTTPTransport

/// Decides whether an answer is a success, and names the failure when it is not.
///
/// Total: any status with any body gives a body to decode or a ``MobileTokenError``.
package enum ServerAnswer {
    /// The body of a success.
    ///
    /// HTTP 400 and above is an error whatever the body says, and `{"status":"ERROR"}` is one under any HTTP status.
    ///
    /// - Parameter now: The local time, for a `Retry-After` that names a date.
    package static func body(
        of response: HTTPResponse,
        now: @autoclosure () -> Date
    ) throws(MobileTokenError) -> [UInt8] {
        let isHTTPError = !(200..<300).contains(response.status)
        guard isHTTPError || Self.mayBeError(response.body) else { return response.body }

        let envelope = Self.envelope(in: response.body)
        guard isHTTPError || envelope?.status == "ERROR" else { return response.body }

        let serverCode = envelope?.code
        throw MobileTokenError(
            Self.code(httpStatus: response.status, serverCode: serverCode, isReadable: envelope?.status == "ERROR"),
            envelope?.message ?? "The server refused the request",
            httpStatus: response.status,
            serverCode: serverCode,
            retryAfter: response.headers["Retry-After"].flatMap { RetryAfter.duration($0, now: now()) }
        )
    }

    /// The codes that mean the same on every call. Codes are matched exactly.
    private static let codes: [String: MobileTokenError.Code] = [
        "POWERAUTH_AUTH_FAIL": .authenticationFailed,
        "ERR_AUTHENTICATION": .authenticationFailed,
        "INVALID_REQUEST": .invalidRequest,
        "ERR_VALIDATION": .invalidRequest,
        "INVALID_ACTIVATION": .activationFailed,
        "ERR_ACTIVATION": .activationFailed,
        "ERR_TEMPORARY_KEY": .temporaryKeyRefused,
        "ERR_ENCRYPTION": .encryptionFailed,
        "ERR_SECURE_VAULT": .vaultUnlockFailed,
    ]

    private static func code(httpStatus: Int, serverCode: String?, isReadable: Bool) -> MobileTokenError.Code {
        if let serverCode, let known = Self.codes[serverCode] { return known }
        if httpStatus == 401 && serverCode == nil { return .authenticationFailed }
        return isReadable ? .serverError : .httpStatus
    }

    private struct Envelope {
        var status: String?
        var code: String?
        var message: String?
    }

    /// What can be read of an error's envelope; a member of the wrong type reads as missing.
    private static func envelope(in body: [UInt8]) -> Envelope? {
        guard let object = try? JSONDecoder().decode(WireEnvelope.self, from: Data(body)) else { return nil }
        return Envelope(status: object.status, code: object.code, message: object.message)
    }

    private struct WireEnvelope: Decodable {
        let status: String?
        let code: String?
        let message: String?

        private enum Keys: String, CodingKey { case status, responseObject }
        private enum ErrorKeys: String, CodingKey { case code, message }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            self.status = try? container.decode(String.self, forKey: .status)
            let error = try? container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .responseObject)
            self.code = try? error?.decode(String.self, forKey: .code)
            self.message = try? error?.decode(String.self, forKey: .message)
        }
    }

    /// Whether the answer needs a closer look. A long list is not decoded twice to learn its status, nor even searched
    /// when it begins with it, as the answers of most servers do.
    private static func mayBeError(_ body: [UInt8]) -> Bool {
        guard !body.starts(with: Self.beginningOfSuccess) else { return false }
        let error = Array(#"ERROR""#.utf8)
        return body.withUnsafeBytes { bytes in
            var rest = bytes[...]
            // Capitals are rare, so the search goes from one to the next.
            while let start = rest.firstIndex(of: UInt8(ascii: "E")) {
                rest = bytes[(start + 1)...]
                if start > 0, bytes[start - 1] == UInt8(ascii: "\""), bytes[start...].starts(with: error) {
                    return true
                }
            }
            return false
        }
    }

    private static let beginningOfSuccess = Array(#"{"status":"OK","#.utf8)
}
