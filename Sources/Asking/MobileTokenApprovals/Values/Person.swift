import ExactJSON
import Foundation

extension Approvers {
    /// A person who may approve, however many devices or user ids they have.
    public struct Person: Sendable, Hashable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The requester's name for the person.
        public let id: String
        /// The user ids at the server. The first is asked.
        public let users: [String]

        /// Creates a person.
        ///
        /// - Parameters:
        ///   - id: The requester's name for the person.
        ///   - users: The user ids at the server; by default the identifier.
        public init(_ id: String, users: [String] = []) {
            self.id = id
            self.users = users.isEmpty ? [id] : users
        }

        /// Creates a person whose user id is the identifier.
        public init(stringLiteral id: String) { self.init(id) }

        /// The identifier.
        public var description: String { self.id }

        /// The user id to ask.
        package var user: String { self.users.first ?? self.id }

        var json: JSONValue { ["id": .string(self.id), "users": .array(self.users.map { .string($0) })] }

        /// Returns whether both may be the same person: they share a name or user id, ignoring case, width and surrounding white
        /// space.
        ///
        /// A server's database may equate such names. Excluding a person too many is safer than one too few.
        func mayBe(_ other: Person) -> Bool { !self.names.isDisjoint(with: other.names) }

        /// The names by which a server's database may know the person, without case, width and surrounding white space.
        var names: Set<String> { Set(([self.id] + self.users).map(Self.folded)) }

        private static func folded(_ name: String) -> String {
            // Decomposed first, so that marks have one order. Then in capitals, because several small letters share one, such as the
            // i with and without a dot. A dotted capital leaves the dot.
            let capitals = name.decomposedStringWithCompatibilityMapping.uppercased()
            var letters = String.UnicodeScalarView()
            for scalar in capitals.folding(options: .caseInsensitive, locale: nil).unicodeScalars
            where scalar != "\u{307}" || letters.last != "i" {
                letters.append(scalar)
            }
            return String(letters).precomposedStringWithCompatibilityMapping.trimmingCharacters(in: .whitespaces)
        }

        func check() throws(ApprovalError) {
            for name in [self.id] + self.users {
                // Anyone could decide an operation without a user.
                guard (1...255).contains(name.utf8.count),
                    name.unicodeScalars.allSatisfy(ApprovalRequest.Parameter.isVisible)
                else {
                    throw ApprovalError(
                        .invalidRequest,
                        "A person's name and user ids have 1 to 255 bytes, all of them visible"
                    )
                }
            }
        }
    }
}
