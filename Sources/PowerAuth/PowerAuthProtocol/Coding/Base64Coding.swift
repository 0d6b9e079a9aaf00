import PowerAuthCrypto

// Bytes that are Base64 strings in JSON.
extension KeyedDecodingContainer {
    func decodeBase64(forKey key: Key) throws -> [UInt8] {
        guard let bytes = Base64.decode(try self.decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not Base64")
        }
        return bytes
    }

    func decodeBase64IfPresent(forKey key: Key) throws -> [UInt8]? {
        guard self.contains(key), try !self.decodeNil(forKey: key) else { return nil }
        return try self.decodeBase64(forKey: key)
    }

    func decodeBase64List(forKey key: Key) throws -> [[UInt8]] {
        try self.decode([String].self, forKey: key).map { string in
            guard let bytes = Base64.decode(string) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not Base64")
            }
            return bytes
        }
    }

    func decodeSecret(count: Int, forKey key: Key) throws -> SecretBytes {
        guard let secret = Base64.decodeSecret(try self.decode(String.self, forKey: key)), secret.count == count else {
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: self,
                debugDescription: "not \(count) bytes in Base64"
            )
        }
        return secret
    }
}

extension KeyedEncodingContainer {
    mutating func encodeBase64(_ bytes: [UInt8], forKey key: Key) throws {
        try self.encode(Base64.encode(bytes), forKey: key)
    }

    mutating func encodeBase64(_ secret: SecretBytes, forKey key: Key) throws {
        try self.encode(Base64.encode(secret), forKey: key)
    }
}
