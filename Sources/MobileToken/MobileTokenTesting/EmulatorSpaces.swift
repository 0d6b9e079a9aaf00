public import MobileTokenEmulator

extension Emulator {
    /// Runs `body` with a space of this server, and removes the space at the end.
    ///
    /// The test has failed if `body` throws or calls `noteIssue(_:)`. The reason is reported to the server, and the refused requests are
    /// printed. A server that keeps failed spaces then keeps it, and its console's address is printed.
    ///
    /// - Parameters:
    ///   - name: The name in lists, by default that of the test; at most 255 bytes.
    ///   - seed: Fixes its identifiers, keys and nonces.
    ///   - origin: The initial content; empty by default.
    ///   - body: The test.
    @discardableResult
    public func withSpace<Result>(
        named name: String? = #function,
        seed: UInt64? = nil,
        from origin: SpaceOrigin? = nil,
        _ body: (Emulator) async throws -> Result
    ) async throws -> Result {
        let space = try await self.makeSpace(named: name, seed: seed, from: origin)
        return try await TestIssues.noted {
            try await body(space)
        } afterwards: { failure in
            if let failure {
                let stays = (try? await space.markFailed(because: failure)) ?? false
                if stays { print("The space of the failed test stays: \(space.cloudURL)/console/") }
                for line in await space.reasons(areLinked: stays) { print("\(name ?? "Development server"): \(line)") }
            }
            await space.stop()
        }
    }
}

/// Runs `body` with a space of the server shared by all tests of the process, and removes the space at the end.
///
/// For a test a space is like its own server, with its own clock, faults and journal. It needs neither a port nor a thread, so
/// thousands can run at once. Use ``withEmulator(_:_:)`` for a test with its own configuration.
///
/// ```swift
/// @Test func anOperationExpires() async throws {
///     try await withSpace { emulator in
///         await emulator.clock.freeze()
///         let operation = try await emulator.cloud.createOperation("login", userID: "alice")
///         await emulator.clock.advance(by: .seconds(3600))
///         #expect(try await emulator.cloud.operation(operation.id).status == .expired)
///     }
/// }
/// ```
@discardableResult
public func withSpace<Result>(
    named name: String? = #function,
    seed: UInt64? = nil,
    from origin: Emulator.SpaceOrigin? = nil,
    _ body: (Emulator) async throws -> Result
) async throws -> Result {
    try await SharedEmulator.server.value.withSpace(named: name, seed: seed, from: origin, body)
}

/// The server shared by all tests of a process; it ends with the process. The completed task keeps it alive.
private enum SharedEmulator {
    static let server = Task { try await Emulator.start() }
}
