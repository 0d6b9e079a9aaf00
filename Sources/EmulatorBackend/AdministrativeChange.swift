/// An intervention that no client can make: what an administrator of a real server could do.
package enum AdministrativeChange: Sendable {
    case block(activationID: String)
    case unblock(activationID: String)
    case remove(activationID: String)
    /// Moves the server's counter by steps of the hash chain, forwards only: the chain has no way back.
    case advanceCounter(activationID: String, by: UInt64)
}
