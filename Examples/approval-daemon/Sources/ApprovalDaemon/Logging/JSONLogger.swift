import ExactJSON
public import Foundation
import MobileToken

/// The importance of a line of the log.
public enum LogLevel: String, Sendable, CaseIterable {
    /// For who looks for a mistake.
    case debug
    /// An ordinary event.
    case info
    /// An unusual event.
    case notice
    /// A state that may need a person.
    case warning
    /// A state that needs a person.
    case error

    fileprivate var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Writes each line of the log as a JSON object: `time`, `level` and `message` first, then the metadata by name.
public struct JSONLogger: Sendable {
    private let writer: LogWriter
    private let level: LogLevel
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - level: Lines of lesser levels are left out.
    ///   - now: The local date.
    public init(_ writer: LogWriter, level: LogLevel = .info, now: @escaping @Sendable () -> Date = { Date() }) {
        self.writer = writer
        self.level = level
        self.now = now
    }

    /// Writes a line, unless its level is left out. Metadata without a value are left out.
    public func log(_ level: LogLevel, _ message: String, _ metadata: @autoclosure () -> [String: String?]) {
        guard level.rank >= self.level.rank else { return }
        var members: [JSONObject.Member] = [
            .init(key: "time", value: .string(self.now().formatted(.iso8601WithMilliseconds))),
            .init(key: "level", value: .string(level.rawValue)),
            .init(key: "message", value: .string(message)),
        ]
        for (name, value) in metadata().compactMapValues({ $0 }).sorted(by: { $0.key < $1.key }) {
            members.append(.init(key: name, value: .string(value)))
        }
        self.writer.write(JSONValue.object(JSONObject(members)).serialized() + [UInt8(ascii: "\n")])
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    fileprivate static var iso8601WithMilliseconds: Self { .init(includingFractionalSeconds: true) }
}
