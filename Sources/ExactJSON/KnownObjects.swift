/// Objects of an earlier text, to be recognised in a later one that repeats most of them.
///
/// An object ends where its braces balance, whatever follows it. So bytes that were found to be one valid object are that
/// object again wherever a value begins with them, and nothing of it needs to be checked or decoded twice.
package struct KnownObjects: Sendable {
    /// How far ahead one search looks.
    private static let window = 512
    /// How many objects may be looked at for each that is known, so that a text without any of them costs little more.
    private static let attemptsPerObject = 16

    /// In how many arrays and objects the known ones stand, for the limit of depth to mean the same as before.
    let depth: Int
    private let objects: [[UInt8]]
    /// The objects from here on were not met yet: order is mostly kept.
    private var next = 0
    private var attempts: Int

    /// - Parameter objects: Each the exact bytes of a valid object that stood at this depth, in the order of the text.
    package init(_ objects: [[UInt8]], depth: Int) {
        self.objects = objects
        self.depth = depth
        self.attempts = Self.attemptsPerObject * objects.count
    }

    /// Which of the objects begins at `position`, and how many bytes it has.
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
