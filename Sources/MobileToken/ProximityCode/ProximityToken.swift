internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension ProximityCode {
    /// Reads a JWT, `header.payload[.signature]`. Neither header nor signature says anything that could be relied on.
    init?(token: String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, !parts[0].isEmpty, !parts[1].isEmpty, let payload = Self.base64(parts[1]),
            let object = try? JSONDocument(parsing: payload).root, object.isObject
        else { return nil }
        let log = IssueLog()
        do throws(DecodingIssue) {
            let operationID = try object.required("oid", .text, log)
            let totps = [
                try object.ifPresent("totp", .text, log),
                try object.ifPresent("potp", .text, log),
            ]
            self.init(operationID: operationID, totp: totps.compactMap(\.self).first { !$0.isEmpty })
        } catch {
            return nil
        }
    }

    /// Either alphabet, padded or not.
    private static func base64(_ text: Substring) -> [UInt8]? {
        let unpadded = text.prefix { $0 != "=" }
        let padding = String(repeating: "=", count: (4 - unpadded.utf8.count % 4) % 4)
        guard unpadded.utf8.count == text.utf8.count || text == unpadded + padding else { return nil }
        let standard = unpadded.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return Base64.decode(String(standard) + padding)
    }
}
