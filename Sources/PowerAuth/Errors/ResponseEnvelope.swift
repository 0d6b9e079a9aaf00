import Basics
import ExactJSON
package import Foundation
package import HTTPClientTransport
import PowerAuthProtocol

/// Decides whether a response is a success, and names the failure when it is not.
///
/// Total: any status with any body gives a body to decode or a ``MobileTokenError``.
package enum ResponseEnvelope {
    /// Returns the body of a success.
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
        guard isHTTPError || envelope?.isError == true else { return response.body }

        // Only in the server's own envelope is a code the server's word.
        let serverCode = envelope?.isError == true ? envelope?.code : nil
        throw MobileTokenError(
            Self.code(serverCode: serverCode, isReadable: envelope?.isError == true),
            envelope?.message ?? "The server refused the request",
            httpStatus: response.status,
            serverCode: serverCode,
            retryAfter: response.headers["Retry-After"].flatMap { RetryAfter.duration($0, now: now()) }
        )
    }

    /// The codes that mean the same on every call. Codes are matched exactly.
    private static let codes: [ExactString: MobileTokenError.Code] = [
        "POWERAUTH_AUTH_FAIL": .authenticationFailed,
        "ERR_AUTHENTICATION": .authenticationFailed,
        "INVALID_REQUEST": .invalidRequest,
        "ERR_VALIDATION": .invalidRequest,
        "INVALID_ACTIVATION": .activationFailed,
        "ERR_ACTIVATION": .activationFailed,
        "ERR_TEMPORARY_KEY": .temporaryKeyRefused,
        "ERR_ENCRYPTION": .encryptionFailed,
        "ERR_SECURE_VAULT": .vaultUnlockFailed,
        "ERR_UPGRADE": .upgradeFailed,
        "ERR_PASSWORD_CHANGE": .passwordChangeFailed,
        "ERR_BIOMETRY": .biometryChangeFailed,
        "ERR_USER_INFO": .userInfoFailed,
        "ERR_STATUS": .serverStatusFailed,
        "ERR_CONFIG": .serverConfigurationFailed,
        "APPLICATION_CONFIGURATION_ERROR": .serverConfigurationFailed,
        "ACTIVATION_CODE_FAILED": .activationCodeFailed,
        "REMOTE_COMMUNICATION_ERROR": .remoteCommunicationFailed,
    ]

    private static func code(serverCode: String?, isReadable: Bool) -> MobileTokenError.Code {
        if let serverCode, let known = Self.codes[ExactString(serverCode)] { return known }
        // A 401 without the server's code is the page of somebody else, who judged no signature.
        return isReadable ? .serverError : .httpStatus
    }

    private struct Envelope {
        /// Indicates whether the response calls itself an error. One `status` that says so suffices: a second one takes nothing
        /// back.
        var isError: Bool
        var code: String?
        var message: String?
    }

    /// Returns what can be read of an error's envelope. A member of the wrong type, or given twice, reads as missing.
    private static func envelope(in body: [UInt8]) -> Envelope? {
        guard let root = try? JSONDocument(parsing: body).root, root.isObject else { return nil }
        let error = root["responseObject"]
        return Envelope(
            isError: root.members.contains { name, value in
                name.string?.isExactly("status") == true && value.string?.isExactly("ERROR") == true
            },
            code: error?["code"]?.string,
            message: error?["message"]?.string
        )
    }

    /// Returns whether the response needs a closer look. A long list is not decoded twice to learn its status, nor even
    /// searched when it begins with it, as the responses of most servers do.
    private static func mayBeError(_ body: [UInt8]) -> Bool {
        guard !body.starts(with: Self.beginningOfSuccess) else { return false }
        let error = Array(#"ERROR""#.utf8)
        return body.withUnsafeBytes { bytes in
            // A server that escapes letters that need no escape is looked at closely.
            if bytes.contains(UInt8(ascii: "\\")), Self.hasEscapedLetter(bytes) { return true }
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

    /// Returns whether an escape such as `\u0045` stands for an ASCII character.
    private static func hasEscapedLetter(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "\\")) {
            rest = bytes[(start + 1)...]
            if rest.starts(with: "u00".utf8) { return true }
        }
        return false
    }

    private static let beginningOfSuccess = Array(#"{"status":"OK","#.utf8)
}
