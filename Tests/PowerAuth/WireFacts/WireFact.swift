package import Testing

/// A trait that names the facts about real servers and clients on which a test rests.
///
/// A row is one of the page "How this server differs from real ones" (`A1`, `B7`), a section of it (`4.2`), or a file
/// of recorded answers (`recordings/core.jsonl`). Tests of our server with our client prove nothing about the wire
/// unless somebody else was seen to do the same.
package struct WireFact: TestTrait, SuiteTrait {
    package let rows: [String]

    package var isRecursive: Bool { true }

    package var comments: [Comment] { [Comment(rawValue: "Wire facts: " + self.rows.joined(separator: ", "))] }
}

extension Trait where Self == WireFact {
    /// Names the rows that a test or a suite rests on.
    package static func wireFact(_ rows: String...) -> Self { Self(rows: rows) }
}
