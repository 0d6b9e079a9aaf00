import Foundation

package enum Wire {
    struct Request<Object: Encodable>: Encodable { let requestObject: Object }
    struct Response<Object: Decodable>: Decodable { let responseObject: Object }

    /// Encodes a value of the SDK or its user as JSON.
    static func encode(_ value: some Encodable) throws(MobileTokenError) -> [UInt8] {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(value))
        } catch {
            throw MobileTokenError(.invalidRequest, "The request cannot be written as JSON", underlying: error)
        }
    }

    /// Decodes a response to `call`, or throws ``MobileTokenError/Code/invalidResponse``.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from response: ServerResponse,
        of call: String
    ) throws -> Value {
        try response.read { try self.decode(type, from: $0, of: call) }
    }

    /// Decodes JSON from a response to `call`, or throws ``MobileTokenError/Code/invalidResponse``.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8],
        of call: String
    ) throws(MobileTokenError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(body))
        } catch {
            // The cause is omitted: decoding errors quote the input, which may be secret.
            throw .invalidResponse("The response to \(call) cannot be read")
        }
    }
}

extension Wire.Response: Sendable where Object: Sendable {}
