public import Foundation
public import MobileToken

/// An identifiable value with an expiry, such as a `UserOperation`, for an ``ExpirationWatcher`` to watch.
///
/// ```swift
/// struct Challenge: Expirable {
///     let id: UUID
///     let expires: Date
/// }
/// ```
public protocol Expirable: Sendable, Identifiable where ID: Sendable {
    /// The expiry, in the server's time.
    var expires: Date { get }
}

extension UserOperation: Expirable {}
extension LocalOperation: Expirable {}

/// A watched item, by type.
package enum WatchedItem: Sendable {
    // Operations are by far the most frequent items; this case needs no box and hashes fast.
    case operation(UserOperation)
    case other(any Expirable)

    package init(_ item: some Expirable) {
        if let operation = item as? UserOperation {
            self = .operation(operation)
        } else {
            self = .other(item)
        }
    }

    package var item: any Expirable {
        switch self {
        case .operation(let operation): operation
        case .other(let item): item
        }
    }
}

extension WatchedItem: ExpirationQueueItem {
    package enum Key: Hashable, Sendable {
        case operation(UserOperation.Identity)
        case other(OtherKey)
    }

    package struct OtherKey: Hashable, Sendable {
        private let type: ObjectIdentifier
        private let id: any Hashable & Sendable

        fileprivate init<Item: Expirable>(_ item: Item) {
            self.type = ObjectIdentifier(Item.self)
            self.id = item.id
        }

        package static func == (one: Self, other: Self) -> Bool {
            one.type == other.type && AnyHashable(one.id) == AnyHashable(other.id)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(self.type)
            self.id.hash(into: &hasher)
        }
    }

    package var key: Key {
        switch self {
        case .operation(let operation): .operation(operation.identity)
        case .other(let item): .other(OtherKey(item))
        }
    }

    package var expires: Date {
        switch self {
        case .operation(let operation): operation.expires
        case .other(let item): item.expires
        }
    }
}
