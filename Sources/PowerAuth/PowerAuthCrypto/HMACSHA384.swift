import COpenSSL

package enum HMACSHA384 {
    package static let byteCount = 48

    package static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
        let context = ThreadContexts.current.hmacSHA384.pointer
        require(key.withUnsafeBytes { EVP_MAC_init(context, $0.octets, $0.count, nil) }, "EVP_MAC_init")
        return [UInt8](count: Self.byteCount) { tag in
            MACMessage.authenticate(in: context, into: tag) { $0.update(message) }
        }
    }
}
