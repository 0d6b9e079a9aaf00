import ExactJSON
import MobileToken
import PowerAuthCrypto

extension ProximityCode {
    /// Reads a JWT, `header.payload[.signature]`. Header and signature are ignored, because neither can be relied on.
    init?(token: String) {
        // By bytes: to a `String`, a dot followed by a combining mark is no dot.
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, !parts[0].isEmpty, !parts[1].isEmpty, let payload = Self.base64(parts[1]),
            let object = try? JSONDocument(parsing: payload).root, object.isObject
        else { return nil }
        let log = IssueLog()
        do throws(DecodingIssue) {
            let operationID = try object.required("oid", .string, log)
            let totps = [
                try object.ifPresent("totp", .string, log),
                try object.ifPresent("potp", .string, log),
            ]
            self.init(checking: operationID, totp: totps.compactMap(\.self).first { !$0.isEmpty })
        } catch {
            return nil
        }
    }

    /// Decodes Base64 of either alphabet, padded or not.
    private static func base64(_ text: Substring.UTF8View) -> [UInt8]? {
        let unpadded = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = String(repeating: "=", count: (4 - unpadded.count % 4) % 4)
        guard unpadded.count == text.count || text.dropFirst(unpadded.count).elementsEqual(padding.utf8) else {
            return nil
        }
        let standard = unpadded.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        return Base64.decode(String(decoding: standard, as: UTF8.self) + padding)
    }
}
