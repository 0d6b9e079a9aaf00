/// An intervention that no client can make: what an administrator of a real server could do.
package enum AdministrativeChange: Sendable {
    /// Blocks until a time in milliseconds since 1970, or until it is unblocked.
    case block(activationID: String, until: Milliseconds? = nil)
    case unblock(activationID: String)
    case remove(activationID: String)
    /// Moves the server's counter by steps of the hash chain, forwards only: the chain has no way back.
    case advanceCounter(activationID: String, by: UInt64)
    /// Lets an operation expire now, and nothing else.
    case expire(operationID: String)
}
