/// The members of swift-log's `Logger` that ``Telemetry`` needs, as they are written there.
///
/// ```swift
/// extension Logger: LoggerShape {}
/// extension Logger.Level: LogLevelShape {}
/// ```
public protocol LoggerShape: Sendable {
    /// The importance of a line.
    associatedtype Level: LogLevelShape
    /// The text of a line.
    associatedtype Message: ExpressibleByStringLiteral where Message.StringLiteralType == String
    /// A value beside the message of a line.
    associatedtype MetadataValue: ExpressibleByStringLiteral where MetadataValue.StringLiteralType == String

    /// Writes a line, unless lines of its level are left out: then nothing is evaluated.
    func log(
        level: Level,
        _ message: @autoclosure () -> Message,
        metadata: @autoclosure () -> [String: MetadataValue]?,
        source: @autoclosure () -> String?,
        file: String,
        function: String,
        line: UInt
    )
}

/// The levels that ``Telemetry`` uses, as swift-log's `Logger.Level` names them.
public protocol LogLevelShape: Sendable {
    /// For who looks for a mistake.
    static var debug: Self { get }
    /// An ordinary event.
    static var info: Self { get }
    /// An unusual event.
    static var notice: Self { get }
    /// A state that may need a person.
    static var warning: Self { get }
    /// A state that needs a person.
    static var error: Self { get }
}

extension LoggerShape {
    /// Writes a line with metadata, of which those without a value are left out.
    public func log(
        _ level: Level,
        _ message: StaticString,
        _ metadata: @autoclosure () -> [String: String?],
        file: String = #fileID,
        function: String = #function,
        line: UInt = #line
    ) {
        self.log(
            level: level,
            Message(stringLiteral: message.description),
            metadata: metadata().compactMapValues { $0.map { MetadataValue(stringLiteral: $0) } },
            source: nil,
            file: file,
            function: function,
            line: line
        )
    }
}
