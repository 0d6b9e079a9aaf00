package import PowerAuthCrypto

/// The algorithms of a version 4 activation, fixed at its creation.
///
/// All suites use P-384 for key agreement and signatures. Hybrid ones add the algorithms of FIPS 203 and 204, and are secure as
/// long as either kind is.
public enum AlgorithmSuite: String, Sendable, Hashable, CaseIterable, Codable {
    /// Only P-384.
    case p384 = "EC_P384"
    /// P-384 with ML-KEM-768 and ML-DSA-65.
    case p384MLLevel3 = "EC_P384_ML_L3"
    /// P-384 with ML-KEM-1024 and ML-DSA-87.
    case p384MLLevel5 = "EC_P384_ML_L5"

    /// The second key agreement; `nil` in the suite with only P-384.
    package var keyEncapsulation: MLKEM? {
        switch self {
        case .p384: nil
        case .p384MLLevel3: .mlKEM768
        case .p384MLLevel5: .mlKEM1024
        }
    }

    /// The second signature algorithm; `nil` in the suite with only P-384.
    package var signatureScheme: MLDSA? {
        switch self {
        case .p384: nil
        case .p384MLLevel3: .mlDSA65
        case .p384MLLevel5: .mlDSA87
        }
    }

    /// Indicates whether the process's libcrypto supports the whole suite.
    package var isAvailable: Bool { self.unavailableAlgorithms.isEmpty }

    /// The suites that this process supports.
    package static var available: [Self] { Self.allCases.filter(\.isAvailable) }

    /// Throws unless this process supports the suite.
    package func requireAvailability() throws(SuiteUnavailableError) {
        guard self.isAvailable else { throw SuiteUnavailableError(suite: self) }
    }

    private var unavailableAlgorithms: [PostQuantumAlgorithm] {
        [self.keyEncapsulation?.algorithm, self.signatureScheme?.algorithm].compactMap(\.self).filter {
            !$0.isAvailable
        }
    }
}

/// The error for a suite that the process's libcrypto does not fully support.
package struct SuiteUnavailableError: Error, Hashable, CustomStringConvertible {
    package let suite: AlgorithmSuite
    /// The libcrypto found, such as `OpenSSL 3.0.19`.
    package let foundVersion: String
    /// The oldest libcrypto with built-in support.
    package let neededVersion: String

    package init(suite: AlgorithmSuite) {
        self.suite = suite
        self.foundVersion = CryptoLibrary.version
        self.neededVersion = "OpenSSL 3.5"
    }

    package var description: String {
        "the algorithms \(self.suite.rawValue) need \(self.neededVersion) or newer, found \(self.foundVersion)"
    }
}
