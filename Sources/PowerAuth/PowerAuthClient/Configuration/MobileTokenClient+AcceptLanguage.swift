import Basics

extension MobileTokenClient {
    /// The languages for operations and messages, sent as `Accept-Language`.
    ///
    /// Regions are dropped: `en-GB` is sent as `en`. Servers choose texts by language only, but format amounts in the region's
    /// currency: 1 949 CZK as `£1,949.00`.
    public struct AcceptLanguage: Sendable, Hashable, CustomStringConvertible {
        /// English, the default.
        public static let english = MobileTokenClient.AcceptLanguage(unchecked: "en")

        /// The value of the header.
        public let description: String

        private init(unchecked text: String) {
            self.description = text
        }

        /// Creates a preference for one or several languages, such as `cs`, `en-GB` or `cs, en;q=0.8, *;q=0.1`.
        ///
        /// The server decides how to treat an unknown language.
        ///
        /// - Throws: `invalidLanguage` for illegal characters, a list without a language, and more than 256 bytes.
        public init(_ text: String) throws(MobileTokenError) {
            let bytes = text.utf8
            guard bytes.count <= 256, bytes.contains(where: { $0.isASCIILetter || $0 == UInt8(ascii: "*") }),
                bytes.allSatisfy({ $0.isASCIILetterOrDigit || " ,;-=.*".utf8.contains($0) })
            else {
                throw MobileTokenError(.invalidLanguage, "Not a list of languages, such as \"en\" or \"cs, en;q=0.8\"")
            }
            self.description = text.split(separator: ",", omittingEmptySubsequences: false)
                .map(Self.withoutRegion)
                .joined(separator: ",")
        }

        /// Returns the language with its script and weight, such as `zh-Hant;q=0.5`.
        private static func withoutRegion(_ language: Substring) -> String {
            let tag = language.prefix { $0 != ";" }
            let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
            // A single letter begins an extension, which may contain a currency.
            let kept = parts.dropFirst().prefix { $0.utf8.count > 1 }.filter { part in
                let part = part.utf8.filter { $0 != UInt8(ascii: " ") }
                let isRegion = part.count == 2 || (part.count == 3 && part.allSatisfy(\.isASCIIDigit))
                return !isRegion
            }
            return (parts.prefix(1) + kept).joined(separator: "-") + language.dropFirst(tag.count)
        }
    }
}
