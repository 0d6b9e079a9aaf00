import Basics
package import PowerAuthProtocol

/// A form in which activations are stored. A program reads its own and all before it, and refuses a later one with
/// `storeFromFuture`.
package struct RecordFormat: RawRepresentable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Activations of version 3 of the protocol.
    package static let version3 = Self(rawValue: 1)
    /// Activations of version 4 as well, and those that are being upgraded to it.
    package static let version4 = Self(rawValue: 2)
    /// The latest that this program knows.
    package static let newest = Self.version4

    /// The form of new activations of a version of the protocol.
    package init(of version: ProtocolVersion) { self = version.isVersion3 ? .version3 : .version4 }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension SealedActivation {
    /// The earliest form that has all that this activation is made of.
    package var format: RecordFormat {
        guard !self.fields.contains(Self.upgradeMark) else { return .version4 }
        let version = self.fields.first { ExactString($0.name) == RecordFields.Name.version }
        let name = version.flatMap { String(validating: $0.bytes, as: UTF8.self) }
        return name.flatMap(ProtocolVersion.init(rawValue:)).map(RecordFormat.init(of:)) ?? .newest
    }
}
