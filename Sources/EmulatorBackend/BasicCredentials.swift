import Basics
package import EmulatorMessages
import PowerAuthCrypto

/// A user and a password, as Basic authentication shows them.
package struct BasicCredentials: Sendable {
    private let expected: [UInt8]

    package init(user: String, password: String) {
        self.expected = Array("\(user):\(password)".utf8)
    }

    /// The value of an `Authorization` field that shows them.
    package var authorization: String { "Basic " + Base64.encode(self.expected) }

    /// Returns whether they are those of a user, whose name has no colon.
    func areOf(user: String) -> Bool { self.expected.starts(with: "\(user):".utf8) }

    /// Returns whether a request shows them. Takes the same time wherever they differ.
    package func areShown(by request: ReceivedRequest) -> Bool {
        let parts = (request.header("Authorization") ?? "").utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 2, Substring(parts[0]).equalsIgnoringASCIICase("Basic"),
            let given = Base64.decode(String(Substring(parts[1])))
        else { return false }
        return constantTimeEquals(given, self.expected)
    }
}
