import Foundation

extension CloudClient {
    /// The user and password for each request.
    public struct Credentials: Sendable, CustomStringConvertible {
        private let user: String
        private let password: String

        /// Creates credentials. Read the password from a file or the environment, not from the source code.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// The name of the type only.
        public var description: String { "CloudClient.Credentials" }

        /// Returns the value of the `Authorization` header.
        ///
        /// - Throws: ``CloudError/Code/invalidConfiguration`` for characters that Basic authentication does not support.
        func authorization() throws(CloudError) -> String {
            guard !self.user.isEmpty, !self.password.isEmpty else {
                throw CloudError(.invalidConfiguration, "credentials: the user or the password is empty")
            }
            // A colon would end the name.
            guard !self.user.utf8.contains(UInt8(ascii: ":")) else {
                throw CloudError(.invalidConfiguration, "credentials: the user has a colon")
            }
            guard (self.user + self.password).unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
            else {
                throw CloudError(.invalidConfiguration, "credentials: a control character, such as the end of a line")
            }
            return "Basic " + Data("\(self.user):\(self.password)".utf8).base64EncodedString()
        }
    }
}
