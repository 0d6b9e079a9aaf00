import COpenSSL

/// The libcrypto that the process has loaded, which may be newer than the one it was compiled against.
package enum CryptoLibrary {
    /// The name and version of the library, such as `OpenSSL 3.0.19`.
    package static let version = "OpenSSL " + String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
}

/// Unwraps the result of a call that fails only when libcrypto is out of memory or lacks its default algorithms, where no
/// caller could go on.
func require(_ pointer: OpaquePointer?, _ operation: StaticString) -> OpaquePointer {
    guard let pointer else { preconditionFailure("libcrypto: \(operation) failed") }
    return pointer
}

/// Checks a call whose input is always right, so that only the library itself can fail.
func require(_ status: Int32, _ operation: StaticString) {
    precondition(status == 1, "libcrypto: \(operation) failed")
}
