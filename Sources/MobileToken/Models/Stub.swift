public import Foundation
public struct UserOperation: Sendable, Hashable, Identifiable {
    public let id: String
    public var name: String
    public var expires: Date
    package init(id: String, name: String = "", expires: Date) {
        self.id = id; self.name = name; self.expires = expires
    }
}
