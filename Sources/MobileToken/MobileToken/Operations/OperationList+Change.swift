extension OperationList {
    /// A change of the list since the subscriber's last one. It is never empty.
    public struct Change: Sendable, Hashable {
        /// An operation that changed.
        public struct Update: Sendable, Hashable {
            /// The operation in the subscriber's last list.
            public let old: UserOperation
            /// The operation now.
            public let new: UserOperation

            package init(old: UserOperation, new: UserOperation) {
                self.old = old
                self.new = new
            }
        }

        /// An operation that left the list.
        public struct Removal: Sendable, Hashable {
            /// The operation in the subscriber's last list.
            public let operation: UserOperation
            /// The reason for its removal.
            public let reason: RemovalReason

            package init(operation: UserOperation, reason: RemovalReason) {
                self.operation = operation
                self.reason = reason
            }
        }

        /// The reason for a removal. A struct, so that a new reason breaks no caller's `switch`.
        public struct RemovalReason: Sendable, Hashable, CustomStringConvertible {
            /// The name of the reason.
            public let description: String

            /// Authorized through this service.
            public static let authorized = Self(description: "authorized")
            /// Rejected through this service.
            public static let rejected = Self(description: "rejected")
            /// The server no longer lists it, and it had expired.
            public static let expired = Self(description: "expired")
            /// The server lists it in an unreadable form: it may still wait for a decision.
            public static let unreadable = Self(description: "unreadable")
            /// The server no longer lists it: decided, canceled or finished elsewhere.
            public static let disappeared = Self(description: "disappeared")
        }

        /// The origin of a change. A struct, so that a new source breaks no caller's `switch`.
        package struct Source: Sendable, Hashable, CustomStringConvertible {
            /// The name of the source.
            package let description: String

            /// The start of a subscription: the whole list is reported as added.
            package static let subscription = Self(description: "subscription")
            /// A list from the server.
            package static let fetch = Self(description: "fetch")
            /// An approval by ``OperationsService/authorize(_:with:)``.
            package static let authorization = Self(description: "authorization")
            /// A rejection by ``OperationsService/reject(_:reason:)``.
            package static let rejection = Self(description: "rejection")
            /// A claim by ``OperationsService/claim(id:)``.
            package static let claim = Self(description: "claim")
        }

        /// The whole list now, in the server's order.
        public let operations: [UserOperation]
        /// New operations, in list order.
        public let added: [UserOperation]
        /// Changed operations, in no particular order.
        public let updated: [Update]
        /// Removed operations.
        public let removed: [Removal]
        /// The origin of the change; of merged changes, the last.
        package let source: Source

        package init(
            operations: [UserOperation],
            added: [UserOperation] = [],
            updated: [Update] = [],
            removed: [Removal] = [],
            source: Source
        ) {
            self.operations = operations
            self.added = added
            self.updated = updated
            self.removed = removed
            self.source = source
        }

        package var isEmpty: Bool { self.added.isEmpty && self.updated.isEmpty && self.removed.isEmpty }

        /// Returns this change followed by `next`, or `nil` if they cancel out.
        package func merged(with next: Self) -> Self? {
            var added = OrderedOperations(self.added.map { ($0.id, $0) })
            var updated = OrderedOperations(self.updated.map { ($0.new.id, $0) })
            var removed = OrderedOperations(self.removed.map { ($0.operation.id, $0) })

            for removal in next.removed {
                let id = removal.operation.id
                if added.remove(id) != nil { continue }  // never seen
                let seen = updated.remove(id)?.old ?? removal.operation
                removed[id] = Removal(operation: seen, reason: removal.reason)
            }
            for update in next.updated {
                let id = update.new.id
                if added[id] != nil {
                    added[id] = update.new
                } else {
                    let seen = updated[id]?.old ?? update.old
                    updated[id] = seen == update.new ? nil : Update(old: seen, new: update.new)
                }
            }
            for operation in next.added {
                if let removal = removed.remove(operation.id) {  // went and came back
                    if removal.operation != operation {
                        updated[operation.id] = Update(old: removal.operation, new: operation)
                    }
                } else {
                    added[operation.id] = operation
                }
            }
            let merged = Self(
                operations: next.operations,
                added: Self.inOrder(of: next.operations, added.values),
                updated: updated.values,
                removed: removed.values,
                source: next.source
            )
            return merged.isEmpty ? nil : merged
        }

        /// Returns the same change with the list in another order, which by itself is no change.
        package func reordered(as operations: [UserOperation]) -> Self {
            Self(
                operations: operations,
                added: Self.inOrder(of: operations, self.added),
                updated: self.updated,
                removed: self.removed,
                source: self.source
            )
        }

        private static func inOrder(of list: [UserOperation], _ operations: [UserOperation]) -> [UserOperation] {
            guard operations.count > 1 else { return operations }
            let ids = Set(operations.map(\.identity))
            return list.filter { ids.contains($0.identity) }
        }
    }
}

/// Values by operation identifier, in insertion order.
private struct OrderedOperations<Value> {
    private var slots: [Value?]
    private var indices: [String: Int]

    init(_ pairs: [(String, Value)]) {
        self.slots = pairs.map(\.1)
        self.indices = Dictionary(
            pairs.enumerated().map { ($0.element.0, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    var values: [Value] { self.slots.compactMap { $0 } }

    subscript(id: String) -> Value? {
        get { self.indices[id].flatMap { self.slots[$0] } }
        set {
            if let index = self.indices[id] {
                self.slots[index] = newValue
                if newValue == nil { self.indices[id] = nil }
            } else if let newValue {
                self.indices[id] = self.slots.count
                self.slots.append(newValue)
            }
        }
    }

    mutating func remove(_ id: String) -> Value? {
        guard let index = self.indices.removeValue(forKey: id) else { return nil }
        defer { self.slots[index] = nil }
        return self.slots[index]
    }
}
