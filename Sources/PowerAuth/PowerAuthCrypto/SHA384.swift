import COpenSSL

package enum SHA384 {
    package static let byteCount = 48

    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in
            require(EVP_Digest(message, message.count, hash.octets, nil, Algorithm.sha384, nil), "EVP_Digest")
        }
    }
}
