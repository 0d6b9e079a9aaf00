import COpenSSL

/// The process's libcrypto, which may be newer than the headers.
package enum CryptoLibrary {
    /// Name and version, such as `OpenSSL 3.0.19`.
    package static let version = "OpenSSL " + String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
}

/// Unwraps the result of a call that fails only if libcrypto is out of memory or lacks its default algorithms.
func require(_ pointer: OpaquePointer?, _ operation: StaticString) -> OpaquePointer {
    guard let pointer else { preconditionFailure("libcrypto: \(operation) failed") }
    return pointer
}

/// Checks a call with valid input, so that only the library itself can fail.
func require(_ status: Int32, _ operation: StaticString) {
    precondition(status == 1, "libcrypto: \(operation) failed")
}
