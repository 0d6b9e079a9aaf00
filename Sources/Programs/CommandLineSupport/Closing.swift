/// Runs `body` with an open resource, and then closes it, however `body` ends.
package func closing<Opened, Result>(
    _ opened: Opened,
    _ close: (Opened) async -> Void,
    _ body: (Opened) async throws -> Result
) async throws -> Result {
    do {
        let result = try await body(opened)
        await close(opened)
        return result
    } catch {
        await close(opened)
        throw error
    }
}
