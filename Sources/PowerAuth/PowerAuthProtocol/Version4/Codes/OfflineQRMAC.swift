package import PowerAuthCrypto

extension Version4 {
    /// The MAC of an offline QR code for one activation, instead of a signature. The last line is the digit `2` and the Base64 of
    /// a KMAC over everything up to that digit.
    package enum OfflineQRMAC {
        /// The digit before the tag.
        package static let keyDigit = UInt8(ascii: "2")
        package static let byteCount = 32

        /// Returns the tag that the server appends to a code.
        ///
        /// - Parameters:
        ///   - data: The lines of the code, and the digit.
        ///   - key: ``ActivationKeys/Utility/personalizedData``.
        package static func tag(of data: [UInt8], key: SecretBytes) throws(CryptoError) -> [UInt8] {
            try KMAC256.authenticate(data, key: key, customization: "PA4MAC-QR", count: Self.byteCount)
        }

        /// Returns whether `tag` authenticates `data`, which must end in the digit.
        package static func isValid(_ tag: [UInt8], for data: [UInt8], key: SecretBytes) -> Bool {
            guard data.last == Self.keyDigit, let expected = try? Self.tag(of: data, key: key) else { return false }
            return constantTimeEquals(expected, tag)
        }

        /// Returns whether a code's last line authenticates it.
        package static func isValid(code: String, key: SecretBytes) -> Bool {
            let bytes = Array(code.utf8)
            guard let lineEnd = bytes.lastIndex(of: UInt8(ascii: "\n")), lineEnd + 1 < bytes.count else { return false }
            let tagString = String(decoding: bytes[(lineEnd + 2)...], as: UTF8.self)
            guard let tag = Base64.decode(tagString) else { return false }
            return Self.isValid(tag, for: [UInt8](bytes[...(lineEnd + 1)]), key: key)
        }
    }
}
