import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing

@testable import ApprovalDaemon

@Suite struct PasswordFileTests {
    private func check(_ contents: String, mode: Int = 0o600, isCredential: Bool = false) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("passwords", contents, mode: mode)
        try PasswordFile(path: path, credentialsFolder: isCredential ? folder.path : nil).check()
    }

    @Test func aFileThatOthersMayReadIsRefused() throws {
        try self.check("a b\n")
        try self.check("a b", mode: 0o400)
        for mode in [0o640, 0o604, 0o620, 0o610, 0o601] {
            #expect(throws: ConfigurationError.self) { try self.check("a b\n", mode: mode) }
        }
        // An access control list of systemd's shows as a right of the group.
        try self.check("a b\n", mode: 0o440, isCredential: true)
        #expect(throws: ConfigurationError.self) { try self.check("a b\n", mode: 0o444, isCredential: true) }
    }

    @Test func aByteOrderMarkIsNoPartOfAnIdentifier() throws {
        let folder = try TemporaryFolder()
        let file = PasswordFile(path: try folder.write("p", "\u{FEFF}id x\n"), credentialsFolder: nil)
        #expect(try file.password(of: "id") == SecretBytes(utf8: "x"))
    }

    @Test(arguments: ["", "\n", "a\n", "a \n", " b\n", "a b\nc\n", "a b\r\n", "i\u{0}d\u{0} \u{0}x\u{0}\n"])
    func aLineIsAnIdentifierAndAPassword(contents: String) {
        #expect(throws: ConfigurationError.self) { try self.check(contents) }
    }

    @Test func anActivationsOwnPasswordComesFirst() throws {
        let folder = try TemporaryFolder()
        let file = PasswordFile(path: try folder.write("p", "* for all\nid  with blanks \n"), credentialsFolder: nil)
        #expect(try file.password(of: "id") == SecretBytes(utf8: " with blanks "))
        #expect(try file.password(of: "i") == SecretBytes(utf8: "for all"))
        let own = PasswordFile(path: try folder.write("q", "id x\n"), credentialsFolder: nil)
        #expect(throws: ConfigurationError.self) { try own.password(of: "another") }
    }

    @Test func linksAndFoldersAreRefused() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("p", "a b\n")
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: path)
        for name in ["link", "none", "."] {
            let file = PasswordFile(path: folder.file(name), credentialsFolder: nil)
            #expect(throws: ConfigurationError.self) { try file.check() }
        }
    }
}

@Suite struct MetricsTests {
    @Test func countersGaugesAndHistogramsAreWritten() throws {
        let metrics = MetricsRegistry()
        metrics.count("requests", ("path", "/a"))
        metrics.count("requests", ("path", "/a"), by: 2)
        metrics.set("temperature", 1.5)
        metrics.set("temperature", -3)
        metrics.time("duration", .milliseconds(30))
        metrics.time("duration", .seconds(60))
        let text = metrics.text()
        #expect(text.contains("# TYPE requests counter\nrequests{path=\"/a\"} 3.0\n"))
        #expect(text.contains("# TYPE temperature gauge\ntemperature -3.0\n"))
        #expect(text.contains("duration_bucket{le=\"0.025\"} 0\nduration_bucket{le=\"0.05\"} 1\n"))
        #expect(text.contains("duration_bucket{le=\"25.0\"} 1\nduration_bucket{le=\"+Inf\"} 2\nduration_sum 60.03\n"))
        #expect(try Prometheus.check(text).count == 4)
    }

    @Test func labelsAreEscapedAndBounded() throws {
        let metrics = MetricsRegistry()
        metrics.count("odd", ("path", "a\"b\\c\nd"))
        #expect(metrics.text().contains(#"odd{path="a\"b\\c\nd"} 1.0"#))
        for number in 0..<1_000 { metrics.count("many", ("number", String(number))) }
        let text = metrics.text()
        #expect(text.contains("approval_daemon_series_dropped 500.0"))
        _ = try Prometheus.check(text)
    }

    @Test func theREADMEExplainsEveryMetricAndVariable() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "README.md")
        let readme = try String(contentsOf: file, encoding: .utf8)
        for (name, help) in MetricCatalog.help {
            #expect(readme.contains("| `\(name)` | \(help) |"))
        }
        for reason in HealthReport.Reason.allCases { #expect(readme.contains("| `\(reason.rawValue)` |")) }
        for reason in PaymentPolicy.LeaveReason.allCases { #expect(readme.contains("`\(reason.rawValue)`")) }
        for name in EnvironmentSettings.names { #expect(readme.contains("`\(name)`"), "\(name)") }
    }
}

@Suite(.timeLimit(.minutes(1))) struct LogTests {
    @Test func aLineIsOneObjectWhateverItHolds() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("log", "")
        let file = try #require(FileHandle(forWritingAtPath: path))
        let writer = LogWriter(descriptor: file.fileDescriptor)
        let logger = JSONLogger(writer, level: .info, now: { Date(timeIntervalSince1970: 1.5) })
        logger.log(.debug, "left out", [:])
        logger.log(.warning, "odd", ["b": "a\"\n\u{1B}[31m", "a": "ž", "none": nil])
        writer.flush()
        let line = #"""
            {"time":"1970-01-01T00:00:01.500Z","level":"warning","message":"odd","a":"ž","b":"a\"\n\u001b[31m"}

            """#
        #expect(try String(contentsOfFile: path, encoding: .utf8).lowercased() == line.lowercased())
    }

    /// Nobody reads the pipe, so the writer's thread waits; its callers do not.
    @Test func aReaderWhoIsSlowKeepsNobodyWaiting() throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor, capacity: 10)
        for _ in 0..<100 { writer.write(Array(repeating: 0x20, count: 1 << 16)) }
        #expect(writer.droppedCount > 0)
        // The writer's thread goes on, and ends with the pipe.
        DispatchQueue.global().async { _ = try? pipe.fileHandleForReading.readToEnd() }
        writer.flush()
        try pipe.fileHandleForWriting.close()
    }
}

@Suite(.timeLimit(.minutes(1))) struct StatusServerTests {
    @Test func itAnswersReadsOfWhatThereIs() async throws {
        let server = try StatusServer(host: "127.0.0.1", port: 0) { $0 == "/a" ? .text(200, "yes\n") : nil }
        let url = StatusServer.url(host: "127.0.0.1", port: server.port)
        let transport = try CurlTransport()
        func send(_ method: HTTPRequest.Method, _ path: String, body: [UInt8]? = nil) async throws -> HTTPResponse {
            try await transport.send(HTTPRequest(method, url: url + path, body: body))
        }
        let found = try await send(.get, "/a")
        #expect(found.status == 200)
        #expect(found.body == Array("yes\n".utf8))
        #expect(found.headers["Cache-Control"] == "no-store")
        #expect(try await send(.get, "/b").status == 404)
        #expect(try await send(.post, "/a", body: [1]).status == 405)
        await transport.shutdown()
        server.stop()
        server.stop()
    }

    @Test func aPortThatIsTakenIsAFailure() throws {
        let server = try StatusServer(host: "127.0.0.1", port: 0) { _ in nil }
        #expect(throws: StatusServer.Failure.self) {
            // Another address family would be another port.
            try StatusServer(host: "not an address", port: server.port) { _ in nil }
        }
        server.stop()
    }
}

@Suite struct HealthTests {
    @Test func aProcessThatReportsNothingIsStuck() {
        let clock = ManualClock()
        let start = clock.now
        let board = StatusBoard(
            metrics: MetricsRegistry(),
            writer: LogWriter(),
            maximumPollAge: .seconds(60),
            now: { start.duration(to: clock.now) }
        )
        #expect(board.report.reasons == [.notRunning, .starting])
        clock.advance(by: .seconds(10))
        #expect(board.report.reasons == [.notRunning, .noActiveActivation])
        clock.advance(by: .seconds(6))
        #expect(board.report.reasons.first == .stale)
        #expect(!board.report.isReady)
        // A daemon that shuts down in order has stopped to report.
        board.beginShutdown()
        #expect(board.report.reasons == [.shuttingDown, .noActiveActivation])
        #expect(board.respond(to: "/health")?.status == 503)
        #expect(board.respond(to: "/") == nil)
    }
}
