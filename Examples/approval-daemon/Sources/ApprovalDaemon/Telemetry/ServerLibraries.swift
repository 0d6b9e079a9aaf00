#if ServerLibraries
    import Logging
    import Metrics

    extension JSONLogger {
        /// Returns a logger of swift-log whose lines are this one's.
        func makeLogger() -> Logger {
            var logger = Logger(label: "approval-daemon", factory: { _ in Handler(logger: self) })
            logger.logLevel = .debug  // this one leaves out what it does not want
            return logger
        }

        private struct Handler: LogHandler {
            let logger: JSONLogger
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.debug

            subscript(metadataKey key: String) -> Logger.MetadataValue? {
                get { self.metadata[key] }
                set { self.metadata[key] = newValue }
            }

            func log(
                level: Logger.Level,
                message: Logger.Message,
                metadata: Logger.Metadata?,
                source: String,
                file: String,
                function: String,
                line: UInt
            ) {
                var members: [String: String?] = [:]
                for (key, value) in self.metadata.merging(metadata ?? [:], uniquingKeysWith: { $1 }) {
                    // Members are called as the README calls them.
                    members[key.replacing("mobile_token.", with: "")] = value.description
                }
                self.logger.log(LogLevel(rawValue: level.rawValue) ?? .error, message.description, members)
            }
        }
    }

    extension MetricsRegistry: MetricsFactory {
        private final class Instrument: CounterHandler, TimerHandler, RecorderHandler {
            let record: @Sendable (Double) -> Void

            init(_ record: @escaping @Sendable (Double) -> Void) { self.record = record }

            func increment(by amount: Int64) { self.record(Double(amount)) }
            func reset() {}
            func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1e9) }
            func record(_ value: Int64) { self.record(Double(value)) }
            func record(_ value: Double) { self.record(value) }
        }

        private func make(_ label: String, _ dimensions: [(String, String)], _ kind: MetricFamily.Kind) -> Instrument {
            Instrument { [weak self] in self?.record($0, label, dimensions, kind) }
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            self.make(label, dimensions, .counter)
        }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            self.make(label, dimensions, aggregate ? .histogram(Self.stepBounds) : .gauge)
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            self.make(label, dimensions, .histogram(Self.timeBounds))
        }

        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }
#endif
