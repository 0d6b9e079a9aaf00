import COpenSSL

/// The protocol's post-quantum algorithms with libcrypto's names, available from 3.5 on. The package is compiled with the headers
/// of 3.0 and looks them up at run time, so it works with both.
package enum PostQuantumAlgorithm: String, Sendable, CaseIterable {
    /// Key encapsulation of FIPS 203.
    case mlKEM768 = "ML-KEM-768"
    /// Key encapsulation of FIPS 203.
    case mlKEM1024 = "ML-KEM-1024"
    /// Signatures of FIPS 204.
    case mlDSA65 = "ML-DSA-65"
    /// Signatures of FIPS 204.
    case mlDSA87 = "ML-DSA-87"

    /// Indicates whether the process's libcrypto has the algorithm. The version does not matter: a provider may add or remove it.
    package var isAvailable: Bool { Self.available.contains(self) }

    private static let available: Set<Self> = {
        let found = Self.allCases.filter { algorithm in
            let method = EVP_KEYMGMT_fetch(nil, algorithm.rawValue, nil)
            EVP_KEYMGMT_free(method)
            return method != nil
        }
        ERR_clear_error()  // a look-up that fails leaves an entry
        return Set(found)
    }()

    /// The length of a key pair's seed.
    package var seedByteCount: Int {
        switch self {
        case .mlKEM768, .mlKEM1024: 64
        case .mlDSA65, .mlDSA87: 32
        }
    }

    package var publicKeyByteCount: Int {
        switch self {
        case .mlKEM768: 1184
        case .mlKEM1024: 1568
        case .mlDSA65: 1952
        case .mlDSA87: 2592
        }
    }

    /// The length of a ciphertext or a signature.
    package var outputByteCount: Int {
        switch self {
        case .mlKEM768: 1088
        case .mlKEM1024: 1568
        case .mlDSA65: 3309
        case .mlDSA87: 4627
        }
    }

    /// The bytes before the raw key in `SubjectPublicKeyInfo`: lengths and object identifier.
    private var publicKeyPrefix: [UInt8] {
        let (content, identifier): (Int, [UInt8]) =
            switch self {
            case .mlKEM768: (1202, [0x04, 0x02])
            case .mlKEM1024: (1586, [0x04, 0x03])
            case .mlDSA65: (1970, [0x03, 0x12])
            case .mlDSA87: (2610, [0x03, 0x13])
            }
        let keyCount = self.publicKeyByteCount + 1  // a byte says that no bits are unused
        return [0x30, 0x82, UInt8(content >> 8), UInt8(content & 0xFF)]
            + [0x30, 0x0B, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04] + identifier
            + [0x03, 0x82, UInt8(keyCount >> 8), UInt8(keyCount & 0xFF), 0x00]
    }

    package var publicKeyInfoByteCount: Int { self.publicKeyByteCount + 22 }

    func publicKeyInfo(of rawKey: [UInt8]) -> [UInt8] { self.publicKeyPrefix + rawKey }

    /// Returns the unvalidated raw key in `SubjectPublicKeyInfo`; `nil` for another algorithm or length.
    package func rawPublicKey(inPublicKeyInfo bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == self.publicKeyInfoByteCount, bytes.starts(with: self.publicKeyPrefix) else { return nil }
        return [UInt8](bytes.dropFirst(self.publicKeyPrefix.count))
    }

    func key(seed: SecretBytes) throws(CryptoError) -> KeyHandle {
        guard seed.count == self.seedByteCount else { throw CryptoError(.invalidPrivateKey) }
        return try seed.withUnsafeBytes { (seed) throws(CryptoError) in
            try self.key(seed, isSeed: true, failure: .invalidPrivateKey)
        }
    }

    func key(rawPublicKey bytes: [UInt8]) throws(CryptoError) -> KeyHandle {
        try bytes.withBytes { (bytes) throws(CryptoError) in
            try self.key(bytes, isSeed: false, failure: .invalidPublicKey)
        }
    }

    private func key(
        _ bytes: UnsafeRawBufferPointer,
        isSeed: Bool,
        failure: CryptoError.Code
    ) throws(CryptoError) -> KeyHandle {
        guard self.isAvailable, let context = EVP_PKEY_CTX_new_from_name(nil, self.rawValue, nil) else {
            throw CryptoError.last(.algorithmUnavailable(self.rawValue))
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard let key = COpenSSL_ML_key(context, isSeed ? 1 : 0, bytes.baseAddress, bytes.count) else {
            throw CryptoError.last(failure)
        }
        return KeyHandle(owning: key)
    }

    func rawPublicKey(of handle: KeyHandle) -> [UInt8] {
        handle.publicKeyBytes(count: self.publicKeyByteCount)
    }
}
