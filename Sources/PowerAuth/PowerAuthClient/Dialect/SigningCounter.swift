package import PowerAuthCrypto
package import PowerAuthProtocol

package enum SigningCounter: ForwardCounter {
    case version3(HashCounter)
    case version4(Version4.HashCounter)

    /// `CTR_DATA`.
    package var data: SecretBytes {
        switch self {
        case .version3(let counter): counter.data
        case .version4(let counter): counter.data
        }
    }

    package var byte: UInt8 {
        switch self {
        case .version3(let counter): counter.byte
        case .version4(let counter): counter.byte
        }
    }

    package func next() -> Self {
        switch self {
        case .version3(let counter): .version3(counter.next())
        case .version4(let counter): .version4(counter.next())
        }
    }

    package func hash(key: SecretBytes) throws(CryptoError) -> [UInt8] {
        switch self {
        case .version3(let counter): counter.hash(key: key)
        case .version4(let counter): try counter.hash(key: key)
        }
    }
}
