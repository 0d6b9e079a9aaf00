/// Objects of an earlier document, to be recognized in a later one that repeats most of them.
///
/// An object ends where its braces balance, whatever follows it. So bytes that were found to be one valid object are that
/// object again wherever a value begins with them, and need not be checked or decoded twice.
package struct KnownObjects: Sendable {
    /// The number of objects that one search compares.
    private static let window = 512
    /// The number of comparisons for each known object, so that a document without any of them takes little longer.
    private static let attemptsPerObject = 16

    /// The number of arrays and objects around the known ones, so that the limit of depth means the same as before.
    let depth: Int
    private let objects: [[UInt8]]
    /// The first object that was not found yet, since the order is mostly kept.
    private var next = 0
    private var attempts: Int

    /// Creates a set of known objects.
    ///
    /// - Parameter objects: The exact bytes of valid objects that stood at this depth, in the order of the document.
    package init(_ objects: [[UInt8]], depth: Int) {
        self.objects = objects
        self.depth = depth
        self.attempts = Self.attemptsPerObject * objects.count
    }

    /// Returns the number of the object that begins at `position`, and its length, if it is known.
    mutating func find(at position: Int, of bytes: [UInt8]) -> (index: Int, length: Int)? {
        let end = min(self.next + min(Self.window, self.attempts), self.objects.count)
        for index in self.next..<end {
            let object = self.objects[index]
            guard object.hasSameBytes(in: 0..<object.count, as: bytes, from: position) else { continue }
            self.attempts -= index - self.next
            self.next = index + 1
            return (index, object.count)
        }
        self.attempts -= end - self.next
        return nil
    }
}
