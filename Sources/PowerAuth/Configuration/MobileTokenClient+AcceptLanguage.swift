import Basics

extension MobileTokenClient {
    /// The languages in which the server is asked to present operations and messages, as `Accept-Language` names them.
    public struct AcceptLanguage: Sendable, Hashable, CustomStringConvertible {
        /// English, the default.
        public static let english = MobileTokenClient.AcceptLanguage(unchecked: "en")

        /// The value of the header.
        public let description: String

        private init(unchecked text: String) {
            self.description = text
        }

        /// Creates a preference from one language or several, such as `cs`, `en-GB` or `cs, en;q=0.8, *;q=0.1`.
        ///
        /// The server decides what becomes of a language that does not exist.
        ///
        /// - Throws: `invalidLanguage` for characters that no such list has, for none that names a language, and for more than 256.
        public init(_ text: String) throws(MobileTokenError) {
            let bytes = text.utf8
            guard bytes.count <= 256, bytes.contains(where: { $0.isASCIILetter || $0 == UInt8(ascii: "*") }),
                bytes.allSatisfy({ $0.isASCIILetterOrDigit || " ,;-=.*".utf8.contains($0) })
            else {
                throw MobileTokenError(.invalidLanguage, "Not a list of languages, such as \"en\" or \"cs, en;q=0.8\"")
            }
            self.description = text
        }
    }
}
