/// The destination of the body of a response while it is being produced.
package protocol BodyWriter: Sendable {
    /// Indicates whether nothing can be written any more: the body is complete, or it is no longer read.
    var isClosed: Bool { get }

    /// Sends `bytes` after all that was written before.
    func write(_ bytes: some Collection<UInt8>)

    /// Ends the connection before the body is complete; what was written before is sent.
    func abort()
}
