import Basics
package import EmulatorMessages
import PowerAuthCrypto

/// A user and a password for Basic authentication.
package struct BasicCredentials: Sendable {
    private let expected: [UInt8]

    package init(user: String, password: String) {
        self.expected = Array("\(user):\(password)".utf8)
    }

    /// The value of the `Authorization` field.
    package var authorization: String { "Basic " + Base64.encode(self.expected) }

    /// Returns whether they belong to a user, whose name has no colon.
    func areOf(user: String) -> Bool { self.expected.starts(with: "\(user):".utf8) }

    /// Returns whether a request has these credentials. Its duration does not depend on where they differ.
    package func areShown(by request: ReceivedRequest) -> Bool {
        let parts = (request.header("Authorization") ?? "").utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, Substring(parts[0]).equalsIgnoringASCIICase("Basic"),
            let given = Base64.decode(String(Substring(parts[1])))
        else { return false }
        return constantTimeEquals(given, self.expected)
    }
}
