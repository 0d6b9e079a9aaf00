import EmulatorMessages

/// A path into a space: `/spaces/ID` and the rest.
struct SpacePath: Equatable {
    let id: String
    /// The path within the space, as its server knows it; empty if the address ends with the identifier.
    let inner: String

    private static let folder = "/spaces/"

    static func prefix(of id: String) -> String { self.folder + id }

    /// - Returns: `nil` for a path of the server itself.
    init?(_ path: String) {
        let folder = Self.folder.utf8
        guard path.utf8.starts(with: folder) else { return nil }
        let rest = path.utf8.dropFirst(folder.count)
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard end > rest.startIndex else { return nil }
        self.id = String(Substring(rest[..<end]))
        let inner = withoutContextPath(Substring(rest[end...]))
        // Only an address without a trailing slash has no path: `…/ID/enrollment-server` is a folder too.
        self.inner = inner.isEmpty && end < rest.endIndex ? "/" : String(inner)
    }
}
