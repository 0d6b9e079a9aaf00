package import PowerAuthCrypto

/// The algorithms of an activation of version 4, chosen when it is created and kept for its life.
///
/// All of them agree on keys and sign with P-384. The hybrid ones do both a second time with the algorithms of FIPS 203 and
/// 204, and are secure as long as one of the two is.
public enum AlgorithmSuite: String, Sendable, Hashable, CaseIterable, Codable {
    /// P-384 alone.
    case p384 = "EC_P384"
    /// P-384 with ML-KEM-768 and ML-DSA-65.
    case p384MLLevel3 = "EC_P384_ML_L3"
    /// P-384 with ML-KEM-1024 and ML-DSA-87.
    case p384MLLevel5 = "EC_P384_ML_L5"

    /// The second key agreement; `nil` for P-384 alone.
    package var keyEncapsulation: MLKEM? {
        switch self {
        case .p384: nil
        case .p384MLLevel3: .mlKEM768
        case .p384MLLevel5: .mlKEM1024
        }
    }

    /// The second signature algorithm; `nil` for P-384 alone.
    package var signatureScheme: MLDSA? {
        switch self {
        case .p384: nil
        case .p384MLLevel3: .mlDSA65
        case .p384MLLevel5: .mlDSA87
        }
    }

    /// Indicates whether the libcrypto of this process has every algorithm of the suite.
    public var isAvailable: Bool { self.unavailableAlgorithms.isEmpty }

    /// The suites that this process can use.
    public static var available: [Self] { Self.allCases.filter(\.isAvailable) }

    /// Throws unless this process can use the suite.
    package func requireAvailability() throws(SuiteUnavailableError) {
        guard self.isAvailable else { throw SuiteUnavailableError(suite: self) }
    }

    private var unavailableAlgorithms: [PostQuantumAlgorithm] {
        [self.keyEncapsulation?.algorithm, self.signatureScheme?.algorithm].compactMap(\.self).filter {
            !$0.isAvailable
        }
    }
}

/// The error for a suite with an algorithm that the libcrypto of this process lacks.
package struct SuiteUnavailableError: Error, Hashable, CustomStringConvertible {
    /// The suite that was requested.
    package let suite: AlgorithmSuite
    /// The libcrypto that was found, such as `OpenSSL 3.0.19`.
    package let foundVersion: String
    /// The oldest libcrypto that has the algorithms by itself.
    package let neededVersion: String

    package init(suite: AlgorithmSuite) {
        self.suite = suite
        self.foundVersion = CryptoLibrary.version
        self.neededVersion = "OpenSSL 3.5"
    }

    /// The suite and both versions.
    package var description: String {
        "the algorithms \(self.suite.rawValue) need \(self.neededVersion) or newer, found \(self.foundVersion)"
    }
}
