// The members of swift-log and swift-metrics that the adapter needs, declared as those packages declare them: structs, final
// classes and generic methods. What conforms here conforms there.
import Synchronization

struct Logger: Sendable {
    enum Level: String, Sendable {
        case trace, debug, info, notice, warning, error, critical
    }

    struct Message: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, CustomStringConvertible {
        let description: String
        init(stringLiteral value: String) { self.description = value }
    }

    typealias Metadata = [String: MetadataValue]

    enum MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
        case string(String)
        init(stringLiteral value: String) { self = .string(value) }
    }

    let label: String
    /// The lines logged with any of them.
    static let lines = Mutex<[String]>([])

    func log(
        level: Logger.Level,
        _ message: @autoclosure () -> Logger.Message,
        metadata: @autoclosure () -> Logger.Metadata? = nil,
        source: @autoclosure () -> String? = nil,
        file: String = #fileID,
        function: String = #function,
        line: UInt = #line
    ) {
        let metadata = (metadata() ?? [:]).map { name, value in
            guard case .string(let string) = value else { return name }
            return "\(name)=\(string)"
        }
        let text = (["\(self.label) \(level): \(message())"] + metadata.sorted()).joined(separator: " ")
        Self.lines.withLock { $0.append(text) }
    }
}

/// The values measured with any of them.
enum Measured {
    static let values = Mutex<[String: [Double]]>([:])

    static func add(_ value: Double, _ label: String, _ dimensions: [(String, String)]) {
        let name = ([label] + dimensions.map { "\($0)=\($1)" }).joined(separator: " ")
        self.values.withLock { $0[name, default: []].append(value) }
    }
}

final class Counter {
    let label: String
    let dimensions: [(String, String)]

    init(label: String, dimensions: [(String, String)] = []) {
        self.label = label
        self.dimensions = dimensions
    }

    func increment<DataType: BinaryInteger>(by amount: DataType) {
        Measured.add(Double(amount), self.label, self.dimensions)
    }
}

final class Timer {
    let label: String
    let dimensions: [(String, String)]

    init(label: String, dimensions: [(String, String)] = []) {
        self.label = label
        self.dimensions = dimensions
    }

    func recordNanoseconds(_ duration: Int64) { Measured.add(Double(duration), self.label, self.dimensions) }
}

class Recorder {
    let label: String
    let dimensions: [(String, String)]
    let aggregate: Bool

    init(label: String, dimensions: [(String, String)] = [], aggregate: Bool = true) {
        self.label = label
        self.dimensions = dimensions
        self.aggregate = aggregate
    }

    func record<DataType: BinaryInteger>(_ value: DataType) {
        Measured.add(Double(value), self.label, self.dimensions)
    }

    func record<DataType: BinaryFloatingPoint>(_ value: DataType) {
        Measured.add(Double(value), self.label, self.dimensions)
    }
}
