import Foundation

/// The server's time: the machine's with an optional offset, or frozen until it is moved.
struct VirtualTime: Sendable, Hashable {
    enum Mode: String, Codable, Sendable, CaseIterable {
        case real, manual
    }

    private enum Source: Hashable {
        case machine(offset: TimeInterval)
        case frozen(Date)
    }

    private var source = Source.machine(offset: 0)

    var mode: Mode {
        switch self.source {
        case .machine: .real
        case .frozen: .manual
        }
    }

    /// - Parameter machine: The machine's time.
    func now(machine: Date = Date()) -> Date {
        switch self.source {
        case .machine(let offset): machine.addingTimeInterval(offset)
        case .frozen(let date): date
        }
    }

    /// Moves the time, backwards if `seconds` is negative; the mode stays.
    mutating func advance(bySeconds seconds: TimeInterval) {
        switch self.source {
        case .machine(let offset): self.source = .machine(offset: offset + seconds)
        case .frozen(let date): self.source = .frozen(date.addingTimeInterval(seconds))
        }
    }

    mutating func freeze(at date: Date) {
        self.source = .frozen(date)
    }

    /// Runs from `date`, or from the machine's time.
    mutating func resume(from date: Date? = nil, machine: Date = Date()) {
        self.source = .machine(offset: date?.timeIntervalSince(machine) ?? 0)
    }
}
