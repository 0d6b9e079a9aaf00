import Basics
import ExactJSON
package import Foundation
package import HTTPClientTransport

/// Decides whether a response is a success, and translates failures. Total: any status with any body yields a body or a
/// ``MobileTokenError``.
package enum ResponseEnvelope {
    /// Returns the body of a success. HTTP 400 and above is an error whatever the body, and so is `{"status":"ERROR"}` with any
    /// HTTP status.
    ///
    /// - Parameters:
    ///   - path: The path of the call, because the meaning of codes depends on it.
    ///   - now: The local time, for a `Retry-After` with a date.
    package static func body(
        of response: HTTPResponse,
        to path: String,
        now: @autoclosure () -> Date
    ) throws(MobileTokenError) -> [UInt8] {
        let isHTTPError = !(200..<300).contains(response.status)
        guard isHTTPError || Self.mayBeError(response.body) else { return response.body }

        let envelope = Self.envelope(in: response.body)
        guard isHTTPError || envelope?.isError == true else { return response.body }

        // A code counts only in the server's own envelope.
        let serverCode = envelope?.isError == true ? envelope?.code : nil
        throw MobileTokenError(
            envelope?.isError == true ? Self.code(of: serverCode, under: response.status, at: path) : .httpStatus,
            envelope?.message
                ?? (serverCode == nil ? "The answer is not the server's own" : "The server refused the request"),
            httpStatus: response.status,
            serverCode: serverCode,
            retryAfter: response.headers["Retry-After"].flatMap { RetryAfter.duration($0, now: now()) }
        )
    }

    /// The codes with the same meaning for every call. Codes are matched exactly.
    private static let codes: [ExactString: MobileTokenError.Code] = [
        "POWERAUTH_AUTH_FAIL": .authenticationFailed,
        "ERR_AUTHENTICATION": .authenticationFailed,
        "INVALID_REQUEST": .invalidRequest,
        "ERR_VALIDATION": .invalidRequest,
        "INVALID_ACTIVATION": .activationFailed,
        "ERR_ACTIVATION": .activationFailed,
        "ERR_TEMPORARY_KEY": .temporaryKeyRefused,
        "ERR_ENCRYPTION": .encryptionFailed,
        "ERR_SECURE_VAULT": .init("vaultUnlockFailed"),
        "ERR_UPGRADE": .init("upgradeFailed"),
        "ERR_PASSWORD_CHANGE": .passwordChangeFailed,
        "ERR_BIOMETRY": .init("biometryChangeFailed"),
        "ERR_USER_INFO": .init("userInfoFailed"),
        "ERR_STATUS": .serverStatusFailed,
        "ERR_CONFIG": .serverConfigurationFailed,
        "APPLICATION_CONFIGURATION_ERROR": .serverConfigurationFailed,
        "ACTIVATION_CODE_FAILED": .init("activationCodeFailed"),
        "REMOTE_COMMUNICATION_ERROR": .remoteCommunicationFailed,
    ]

    /// The codes that are credible with HTTP 500; others are ignored then.
    private static let codesOfFailures: Set<MobileTokenError.Code> = [
        .remoteCommunicationFailed, .serverConfigurationFailed, .serverStatusFailed,
    ]

    private static func code(of serverCode: String?, under status: Int, at path: String) -> MobileTokenError.Code {
        guard let serverCode, let code = Self.codes[ExactString(serverCode)] else { return .serverError }
        guard MobileTokenError.mayRefuse(status) else {
            return Self.codesOfFailures.contains(code) ? code : .serverError
        }
        // For unknown activations a server sends a normal status, so this is a failure behind it or in its database.
        let isOfStatus = code == .activationFailed && path.hasSuffix("/activation/status")
        return isOfStatus ? .remoteCommunicationFailed : code
    }

    private struct Envelope {
        /// Indicates whether the response is an error. One `ERROR` status suffices, even beside another `status`.
        var isError: Bool
        var code: String?
        var message: String?
    }

    /// Parses an error envelope. Members of the wrong type or given twice count as missing.
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

    /// Returns whether the response must be parsed for an error. Long lists are not decoded twice, nor searched if they begin
    /// with the usual success.
    private static func mayBeError(_ body: [UInt8]) -> Bool {
        guard !body.starts(with: Self.beginningOfSuccess) else { return false }
        let error = Array(#"ERROR""#.utf8)
        return body.withUnsafeBytes { bytes in
            // Responses with escaped letters are always parsed.
            if bytes.contains(UInt8(ascii: "\\")), Self.hasEscapedLetter(bytes) { return true }
            var rest = bytes[...]
            // The search jumps between capitals, which are rare.
            while let start = rest.firstIndex(of: UInt8(ascii: "E")) {
                rest = bytes[(start + 1)...]
                if start > 0, bytes[start - 1] == UInt8(ascii: "\""), bytes[start...].starts(with: error) {
                    return true
                }
            }
            return false
        }
    }

    /// Returns whether an escape such as `\u0045` represents an ASCII character.
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
