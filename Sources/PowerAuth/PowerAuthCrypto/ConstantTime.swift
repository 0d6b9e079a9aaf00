import COpenSSL

/// Compares byte strings in a time that depends only on their lengths.
package func constantTimeEquals(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { other in constantTimeEquals(one, other) } }
}

/// Compares byte strings in a time that depends only on their lengths.
package func constantTimeEquals(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard one.count == other.count else { return false }
    guard let oneAddress = one.baseAddress, let otherAddress = other.baseAddress else { return true }  // both empty
    return CRYPTO_memcmp(oneAddress, otherAddress, one.count) == 0
}
