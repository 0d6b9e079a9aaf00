/// The destination of a response body while it is being produced.
package protocol BodyWriter: Sendable {
    /// Indicates whether writing is over: the body is complete, or is no longer read.
    var isClosed: Bool { get }

    /// Appends bytes.
    func write(_ bytes: some Collection<UInt8>)

    /// Ends the connection before the body is complete; the data already written are sent.
    func abort()
}
