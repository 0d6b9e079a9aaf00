public import ExactJSON
import PowerAuthCrypto

extension ApprovalRequest {
    /// The bytes that describe an action: they are digested, and the action receives them.
    ///
    /// Represent large content by its digest.
    public struct Action: Sendable, Hashable {
        /// The bytes that are digested and passed to the action.
        public let bytes: [UInt8]

        private init(bytes: [UInt8]) { self.bytes = bytes }

        /// Uses the bytes unchanged.
        public static func bytes(_ bytes: [UInt8]) -> Self { Self(bytes: bytes) }

        /// Encodes JSON in its canonical form (RFC 8785).
        ///
        /// - Throws: ``ApprovalError/Code/invalidRequest`` for a repeated member, or a number that a `Double` does not represent
        ///   exactly: pass it as a string.
        public static func json(_ value: JSONValue) throws -> Self {
            do {
                return Self(bytes: try CanonicalJSON.bytes(of: value))
            } catch CanonicalJSON.Failure.duplicateMember {
                throw ApprovalError(.invalidRequest, "The action's JSON has a member twice")
            } catch {
                throw ApprovalError(
                    .invalidRequest,
                    "The action's JSON has a number that a Double does not hold: give it as a string"
                )
            }
        }

        /// The SHA-256 of the bytes.
        var digest: [UInt8] { SHA256.hash(self.bytes) }
    }
}
