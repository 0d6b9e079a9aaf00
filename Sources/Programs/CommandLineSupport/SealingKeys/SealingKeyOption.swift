extension Command.Option {
    /// An option for the place of a sealing key.
    package static func sealingKey(_ name: String, default place: String, note: String = "") -> Self {
        Self(name, "PLACE", "the sealing key: file:PATH, env:NAME or command:PROGRAM ARGS (default: \(place))\(note)")
    }
}

extension Invocation {
    /// Returns the place of the sealing key in an option, if it is given.
    package func sealingKey(_ option: String) throws -> SealingKeySource? {
        try self[option].map { try SealingKeySource($0) }
    }
}
