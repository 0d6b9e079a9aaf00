import COpenSSL

/// A self-signed certificate for a development server. It is no authority: a client that trusts it trusts only this server.
package struct SelfSignedCertificate: Sendable {
    package let pem: String
    /// The private key in PEM: unencrypted PKCS#8.
    package let privateKeyPEM: SecretBytes
    /// The pin of the public key: `sha256//` and 44 Base64 characters with the SHA-256 of its SubjectPublicKeyInfo.
    package let publicKeyPin: String

    /// Issues a certificate for TLS servers.
    ///
    /// - Parameters:
    ///   - key: The server's key pair, which signs the certificate.
    ///   - name: The common name, at most 64 characters.
    ///   - hostNames: The valid host names.
    ///   - addresses: The valid IPv4 and IPv6 addresses.
    ///   - validity: The validity in seconds since 1970.
    /// - Throws: `invalidHost` for an invalid host name or address, `libcrypto` for other failures.
    package init(
        for key: P256PrivateKey,
        name: String,
        hostNames: [String],
        addresses: [String],
        validity: ClosedRange<Int>
    ) throws(CryptoError) {
        // libcrypto takes them as one string, in which commas and colons are separators.
        guard hostNames.allSatisfy({ Self.isMade(of: "-.", $0) }), addresses.allSatisfy({ Self.isMade(of: ".:", $0) })
        else { throw CryptoError(.invalidHost) }
        guard let x509 = X509_new() else { throw CryptoError.last(.libcrypto(operation: "X509_new")) }
        defer { X509_free(x509) }
        let alternatives = hostNames.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
        let extensions: [(identifier: Int32, value: String)] = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"),
            (NID_subject_alt_name, alternatives.joined(separator: ",")),
        ]
        try Self.describe(x509, name: name, validity: validity)
        try Self.check(X509_set_pubkey(x509, key.handle.key), "X509_set_pubkey")
        for (identifier, value) in extensions {
            let made = X509V3_EXT_conf_nid(nil, nil, identifier, value)
            defer { X509_EXTENSION_free(made) }
            guard made != nil else { throw CryptoError.last(.invalidHost) }  // the others are always right
            try Self.check(X509_add_ext(x509, made, -1), "X509_add_ext")
        }
        guard X509_sign(x509, key.handle.key, Algorithm.sha256) > 0 else {
            throw CryptoError.last(.libcrypto(operation: "X509_sign"))
        }
        let pem = try Self.pem { PEM_write_bio_X509($0, x509) }
        self.pem = pem.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        self.privateKeyPEM = try Self.pem { PEM_write_bio_PKCS8PrivateKey($0, key.handle.key, nil, nil, 0, nil, nil) }
        self.publicKeyPin = try "sha256//" + Base64.encode(SHA256.hash(key.publicKey.publicKeyInfo()))
    }

    /// Returns whether `string` is not empty and consists of letters, digits and the given marks.
    private static func isMade(of marks: String, _ string: String) -> Bool {
        !string.isEmpty
            && string.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: marks.utf8.contains(byte)
                }
            }
    }

    private static func describe(_ x509: OpaquePointer, name: String, validity: ClosedRange<Int>) throws(CryptoError) {
        // The first bit is clear for a positive number, and another one is set for a number other than zero.
        var serial = SecureRandom.bytes(16)
        serial[0] = serial[0] & 0x3F | 0x40
        let number = BN_bin2bn(serial, Int32(serial.count), nil)
        defer { BN_free(number) }
        let subject = X509_get_subject_name(x509)
        let bytes = Array(name.utf8)
        try Self.check(X509_set_version(x509, 2), "X509_set_version")  // counted from zero: version 3
        guard BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != nil,
            ASN1_TIME_set(X509_getm_notBefore(x509), validity.lowerBound) != nil,
            ASN1_TIME_set(X509_getm_notAfter(x509), validity.upperBound) != nil,
            X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1,
            X509_set_issuer_name(x509, subject) == 1
        else { throw CryptoError.last(.libcrypto(operation: "X509_set_issuer_name")) }
    }

    /// Returns the PEM from `write`, and wipes the memory behind it.
    private static func pem(_ write: (OpaquePointer) -> Int32) throws(CryptoError) -> SecretBytes {
        // Without secure memory, the buffer uses ordinary memory, and is wiped too.
        guard let buffer = BIO_new(BIO_s_secmem()) else { throw CryptoError.last(.libcrypto(operation: "BIO_new")) }
        defer { BIO_free(buffer) }
        try Self.check(write(buffer), "PEM_write_bio")
        return SecretBytes(count: BIO_ctrl_pending(buffer)) { pem in
            let count = BIO_read(buffer, pem.baseAddress, Int32(pem.count))
            precondition(Int(count) == pem.count, "libcrypto: BIO_read failed")
        }
    }

    private static func check(_ status: Int32, _ operation: String) throws(CryptoError) {
        guard status == 1 else { throw CryptoError.last(.libcrypto(operation: operation)) }
    }
}
