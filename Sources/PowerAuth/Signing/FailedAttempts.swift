/// The server's count of failed attempts, as this process knows it: whether a refusal was counted tells wrong factors from a refusal
/// that has nothing to do with them.
struct FailedAttempts: Sendable, Equatable {
    /// As the server said last. What came before this process counts as none, so a doubt is taken for a failure.
    private var known = 0

    /// The server said its count, or accepted a signature that sets it to zero.
    mutating func learn(_ count: Int) { self.known = count }

    /// The server said its count after a refusal.
    ///
    /// - Returns: `true` when the refusal was counted.
    mutating func rise(to count: Int) -> Bool {
        defer { self.known = count }
        return count > self.known
    }
}
