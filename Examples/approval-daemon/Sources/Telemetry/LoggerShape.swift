/// What ``Telemetry`` needs of a logger: members of swift-log's `Logger`, as they are written there.
///
/// ```swift
/// extension Logger: LoggerShape {}
/// extension Logger.Level: LogLevelShape {}
/// ```
public protocol LoggerShape: Sendable {
    /// How important a line is.
    associatedtype Level: LogLevelShape
    /// What a line says.
    associatedtype Message: ExpressibleByStringLiteral where Message.StringLiteralType == String
    /// What a line says beside its message.
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
    /// What happened.
    static var info: Self { get }
    /// What is not as usual.
    static var notice: Self { get }
    /// What may need a person.
    static var warning: Self { get }
    /// What needs a person.
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
