import Foundation
import MobileToken

extension ApprovalAgent.Limit {
    static let members = ["name", "of", "hours", "dayIn", "count", "sum"]

    /// The scopes that a configuration may name. Of users the daemon knows nothing.
    private static let scopes = Scope.allCases.filter { $0 != .user }

    init(_ settings: SettingsReader) throws {
        let count = try settings.integer("count", in: 0...1_000_000)
        let sum = try settings.decimals("sum") ?? [:]
        guard count != nil || !sum.isEmpty else { throw settings.error("count", "is missing, and so is \"sum\"") }
        for (currency, amount) in sum {
            guard currency.utf8.count == 3, currency.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
                throw settings.error("sum", "has a member that is no code of three capital letters")
            }
            guard amount >= 0 else { throw settings.error("sum", "has an amount below zero") }
        }
        let name = try settings.requiredString("of")
        guard let scope = Self.scopes.first(where: { $0.rawValue == name }) else {
            throw settings.error("of", "is none of: \(Self.scopes.map(\.rawValue).joined(separator: ", "))")
        }
        self.init(
            try settings.requiredString("name"),
            of: scope,
            within: try Self.window(settings),
            count: count.map { Int($0) },
            sum: sum
        )
    }

    /// A number of hours, or the zone of a day: neither is the default of the other.
    private static func window(_ settings: SettingsReader) throws -> Window {
        let (hours, zone) = (try settings.integer("hours", in: 1...744), try settings.string("dayIn"))
        switch (hours, zone) {
        case (.some, .some): throw settings.error("dayIn", "contradicts \"hours\"")
        case (nil, nil): throw settings.error("hours", "is missing, and so is \"dayIn\"")
        case (let hours?, nil): return .rolling(.hours(Int(hours)))
        case (nil, let zone?):
            guard let zone = TimeZone(identifier: zone) else {
                throw settings.error("dayIn", "is no time zone such as Europe/Prague")
            }
            return .day(in: zone)
        }
    }
}
