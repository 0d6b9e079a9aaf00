import COpenSSL

/// A certificate request (PKCS#10), signed by the key pair to certify.
package struct CertificateRequest: Sendable {
    package enum AlternativeName: Sendable {
        case hostName(String)
        case address(String)
        case email(String)
        case uri(String)
    }

    package let der: [UInt8]

    /// Signs a request with ECDSA and the curve's hash.
    ///
    /// - Parameters:
    ///   - subject: The parts of the subject's name in order. A type is a short or long name or an object identifier.
    ///   - alternativeNames: Alternative names of the subject.
    /// - Throws: `invalidName` for an invalid name, `libcrypto` for other failures.
    package init<Curve>(
        signedBy key: ECPrivateKey<Curve>,
        subject: [(type: String, value: String)],
        alternativeNames: [AlternativeName]
    ) throws(CryptoError) {
        try self.init(key.handle, digest: Curve.curve.digest, subject, alternativeNames)
    }

    /// Signs a request with ML-DSA.
    ///
    /// - Throws: The same errors as with ECDSA.
    package init(
        signedBy key: MLDSAPrivateKey,
        subject: [(type: String, value: String)],
        alternativeNames: [AlternativeName]
    ) throws(CryptoError) {
        try self.init(key.publicKey.handle, digest: nil, subject, alternativeNames)
    }

    private init(
        _ key: KeyHandle,
        digest: OpaquePointer?,
        _ subject: [(type: String, value: String)],
        _ alternativeNames: [AlternativeName]
    ) throws(CryptoError) {
        guard let request = X509_REQ_new() else { throw CryptoError.last(.libcrypto(operation: "X509_REQ_new")) }
        defer { X509_REQ_free(request) }
        let name = X509_REQ_get_subject_name(request)
        for (type, value) in subject { try Self.add(type, value, to: name) }
        if !alternativeNames.isEmpty { try Self.add(alternativeNames, to: request) }
        guard X509_REQ_set_version(request, 0) == 1 else {  // counted from zero: version 1, the only one there is
            throw CryptoError.last(.libcrypto(operation: "X509_REQ_set_version"))
        }
        guard X509_REQ_set_pubkey(request, key.key) == 1 else {
            throw CryptoError.last(.libcrypto(operation: "X509_REQ_set_pubkey"))
        }
        guard X509_REQ_sign(request, key.key, digest) > 0 else {
            throw CryptoError.last(.libcrypto(operation: "X509_REQ_sign"))
        }
        self.der = try DER.bytes("i2d_X509_REQ") { i2d_X509_REQ(request, $0) }
    }

    private static func add(_ type: String, _ value: String, to name: OpaquePointer?) throws(CryptoError) {
        let bytes = Array(value.utf8)
        // libcrypto reads the type up to a zero byte. The value may be any text without control characters.
        guard type.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !bytes.isEmpty,
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let count = Int32(exactly: bytes.count),
            X509_NAME_add_entry_by_txt(name, type, MBSTRING_UTF8, bytes, count, -1, 0) == 1
        else { throw CryptoError.last(.invalidName) }
    }

    private static func add(_ names: [AlternativeName], to request: OpaquePointer) throws(CryptoError) {
        guard let list = GENERAL_NAMES_new() else { throw CryptoError.last(.libcrypto(operation: "GENERAL_NAMES_new")) }
        defer { GENERAL_NAMES_free(list) }
        for name in names {
            let (type, value) = name.parts
            // Except for addresses, libcrypto accepts anything up to a zero byte.
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), name.isPlausible,
                COpenSSL_GENERAL_NAMES_add(list, type, value) == 1
            else { throw CryptoError.last(.invalidName) }
        }
        guard COpenSSL_REQ_add_alternative_names(request, list) == 1 else {
            throw CryptoError.last(.libcrypto(operation: "X509_REQ_add_extensions"))
        }
    }
}

extension CertificateRequest.AlternativeName {
    fileprivate var parts: (type: Int32, value: String) {
        switch self {
        case .hostName(let name): (GEN_DNS, name)
        case .address(let address): (GEN_IPADD, address)
        case .email(let address): (GEN_EMAIL, address)
        case .uri(let uri): (GEN_URI, uri)
        }
    }

    /// Indicates whether the value fits its kind, so that kinds are not confused.
    fileprivate var isPlausible: Bool {
        switch self {
        case .hostName(let name): name.utf8.allSatisfy { !"@:/".utf8.contains($0) }
        case .address: true  // read by the library
        case .email(let address): address.utf8.contains(UInt8(ascii: "@"))
        case .uri(let uri): uri.utf8.contains(UInt8(ascii: ":"))
        }
    }
}

extension NISTCurve {
    /// The hash that a signature covers, for libcrypto.
    fileprivate var digest: OpaquePointer {
        switch self {
        case .p256: Algorithm.sha256
        case .p384: Algorithm.sha384
        }
    }
}
