/// Eight random bytes that identify a row's state. Random, because a count would recur after a restore.
package struct WriteTag: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func random() -> Self { Self(rawValue: .random(in: .min ... .max)) }
}
