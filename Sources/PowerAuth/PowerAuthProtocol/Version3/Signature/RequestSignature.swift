package import PowerAuthCrypto

/// The signature of a request, with one component per factor. For the keys K₀…Kₙ of the factors (order: possession, knowledge,
/// biometry), component i starts with `k = HMAC(Kᵢ, CTR_DATA)`, then for each j < i `k = HMAC(key: HMAC(K_{j+1}, CTR_DATA),
/// message: k)`, and is `HMAC(k, signed bytes)`.
package struct RequestSignature: Sendable, Equatable {
    /// The concatenated components, 32 bytes each.
    private let components: [UInt8]

    /// Signs `data` with a counter, which must not sign anything else.
    ///
    /// - Parameter keys: The keys of one to three factors in order.
    package init(_ data: SignatureData, keys: [SecretBytes], counter: HashCounter, secret: SigningSecret) {
        let length = HMACSHA256.byteCount
        self.components = [UInt8](unsafeUninitializedCapacity: keys.count * length) { components, count in
            let components = UnsafeMutableRawBufferPointer(components)
            Self.withSigningKeys(keys, counter: counter) { signingKeys in
                data.normalized.withUnsafeBytes { normalized in
                    secret.bytes.withUnsafeBytes { secret in
                        for index in keys.indices {
                            HMACSHA256.authenticate(
                                key: UnsafeRawBufferPointer(signingKeys[block: index]),
                                into: components[block: index]
                            ) { message in
                                message.update(normalized)
                                withUnsafeBytes(of: UInt8(ascii: "&")) { message.update($0) }
                                message.update(secret)
                            }
                        }
                    }
                }
            }
            count = keys.count * length
        }
    }

    /// Derives the components' keys, lends them to `body`, and wipes them.
    private static func withSigningKeys(
        _ keys: [SecretBytes],
        counter: HashCounter,
        _ body: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let length = HMACSHA256.byteCount
        // The first half contains HMAC(Kᵢ, CTR_DATA) per factor, the second one the derived keys.
        withUnsafeTemporaryAllocation(byteCount: keys.count * length * 2, alignment: 16) { memory in
            defer { memory.wipe() }
            let counterKeys = UnsafeMutableRawBufferPointer(rebasing: memory[..<(keys.count * length)])
            let signingKeys = UnsafeMutableRawBufferPointer(rebasing: memory[(keys.count * length)...])
            for (index, key) in keys.enumerated() {
                key.withUnsafeBytes { key in
                    counter.data.withUnsafeBytes { counter in
                        HMACSHA256.authenticate(counter, key: key, into: counterKeys[block: index])
                    }
                }
                let signingKey = signingKeys[block: index]
                signingKey.copyMemory(from: UnsafeRawBufferPointer(counterKeys[block: index]))
                for earlier in 0..<index {
                    HMACSHA256.authenticate(
                        UnsafeRawBufferPointer(signingKey),
                        key: UnsafeRawBufferPointer(counterKeys[block: earlier + 1]),
                        into: signingKey
                    )
                }
            }
            body(signingKeys)
        }
    }

    /// The online form as bytes: the last 16 of each component.
    package var onlineBytes: [UInt8] {
        let length = HMACSHA256.byteCount
        return stride(from: 0, to: self.components.count, by: length).reduce(into: []) { bytes, start in
            bytes += self.components[(start + length / 2)..<(start + length)]
        }
    }

    /// The online form in a header: ``onlineBytes`` in Base64.
    package var online: String { Base64.encode(self.onlineBytes) }

    /// Returns the offline form for typing: a decimal code per component, joined by `-`.
    ///
    /// - Parameter componentLength: The number of digits per component, 4 to 8.
    package func offline(componentLength: Int = 8) -> String {
        DecimalCode.string(ofComponents: self.components, length: componentLength)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The block of 32 bytes with this index.
    fileprivate subscript(block index: Int) -> UnsafeMutableRawBufferPointer {
        let length = HMACSHA256.byteCount
        return UnsafeMutableRawBufferPointer(rebasing: self[(index * length)..<((index + 1) * length)])
    }
}
