public import ExactJSON
import PowerAuthCrypto

/// The bytes of what is to be done: they are digested, and the action gets the bytes that were digested.
///
/// Name large things by their digest.
public struct Action: Sendable, Hashable {
    /// The bytes that are digested, and that the action gets.
    public let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Takes the bytes as they are.
    public static func bytes(_ bytes: [UInt8]) -> Self { Self(bytes: bytes) }

    /// Writes JSON in its canonical form (RFC 8785).
    ///
    /// - Throws: ``ApprovalError/Code/invalidRequest`` when a member is there twice, or a number cannot be told from another one
    ///   by who reads it as a `Double`: give it as a string.
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

    /// SHA-256 of the bytes.
    var digest: [UInt8] { SHA256.hash(self.bytes) }
}
