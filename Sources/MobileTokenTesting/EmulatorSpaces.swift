public import MobileTokenEmulator

extension Emulator {
    /// Runs `body` with a space of this server, and removes the space at the end.
    ///
    /// What `body` throws is reported as the failure of the space's test; a server that keeps failed spaces keeps it then, and
    /// the address of its console is printed.
    ///
    /// - Parameters:
    ///   - name: The name in lists; 255 bytes at most.
    ///   - seed: Fixes its identifiers, keys and nonces.
    ///   - origin: The content that it begins with; empty by default.
    ///   - body: The test.
    @discardableResult
    public func withSpace<Result>(
        named name: String? = nil,
        seed: UInt64? = nil,
        from origin: SpaceOrigin? = nil,
        _ body: (Emulator) async throws -> Result
    ) async throws -> Result {
        let space = try await self.makeSpace(named: name, seed: seed, from: origin)
        do {
            let result = try await body(space)
            await space.stop()
            return result
        } catch {
            let stays = (try? await space.markFailed(because: "\(error)")) ?? false
            if stays { print("The space of the failed test stays: \(space.cloudURL)/console/") }
            await space.stop()
            throw error
        }
    }
}

/// Runs `body` with a space of the one server that all tests of the process share, and removes the space at the end.
///
/// It is to a test what a server of its own is, with its own clock, faults and journal, and costs neither a port nor a
/// thread: thousands of them can run at once. Use ``withEmulator(_:_:)`` for what needs a configuration of its own.
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
    named name: String? = nil,
    seed: UInt64? = nil,
    from origin: Emulator.SpaceOrigin? = nil,
    _ body: (Emulator) async throws -> Result
) async throws -> Result {
    try await SharedEmulator.server.value.withSpace(named: name, seed: seed, from: origin, body)
}

/// The server that all tests of a process share; it ends with the process.
private enum SharedEmulator {
    static let server = Task { try await Emulator.start() }
}
