import Basics
package import PowerAuthProtocol

/// A storage format of activations. A program reads its own and all earlier ones, and refuses later ones with `storeFromFuture`.
package struct RecordFormat: RawRepresentable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Activations of protocol version 3.
    package static let version3 = Self(rawValue: 1)
    /// Also activations of version 4, and upgrades to it.
    package static let version4 = Self(rawValue: 2)
    /// The latest format that this program knows.
    package static let newest = Self.version4

    /// The format of new activations of a protocol version.
    package init(of version: ProtocolVersion) { self = version.isVersion3 ? .version3 : .version4 }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension SealedActivation {
    /// The earliest format that supports this activation.
    package var format: RecordFormat {
        guard !self.fields.contains(Self.upgradeMark) else { return .version4 }
        let version = self.fields.first { ExactString($0.name) == RecordFields.Name.version }
        let name = version.flatMap { String(validating: $0.bytes, as: UTF8.self) }
        return name.flatMap(ProtocolVersion.init(rawValue:)).map(RecordFormat.init(of:)) ?? .newest
    }
}
