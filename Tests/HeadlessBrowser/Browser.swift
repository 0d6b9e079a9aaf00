import Foundation
import Glibc
import Synchronization

/// A headless Chromium with one page, driven through a pair of pipes.
final class Browser: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private typealias Answer = CheckedContinuation<Message, any Error>

    /// A message's JSON.
    private struct Message: @unchecked Sendable {
        // Made by one thread, handed over once, and only read.
        var members: [String: Any]
    }

    private struct State {
        var nextID = 1
        var waiting: [Int: Answer] = [:]
        var complaints: [String] = []
        var hasEnded = false
    }

    static let executable: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { (path: String) in access(path, X_OK) == 0 }

    private let process: pid_t
    private let input: Int32
    private let profile: URL
    private let state = Mutex(State())
    private let session = Mutex("")

    /// Errors, exceptions and violations of the page's policy.
    var complaints: [String] { self.state.withLock { $0.complaints } }

    init() async throws {
        guard let executable = Self.executable else { throw Failure(description: "no Chromium") }
        self.profile = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID())")
        // The browser reads commands from its descriptor 3 and writes answers to 4.
        var (commands, answers): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&commands) == 0, pipe(&answers) == 0 else { throw Failure(description: "pipe") }
        for descriptor in commands + answers { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Through numbers that are far away: a pipe may have been given 3 or 4 itself.
        posix_spawn_file_actions_adddup2(&actions, commands[0], 103)
        posix_spawn_file_actions_adddup2(&actions, answers[1], 104)
        posix_spawn_file_actions_adddup2(&actions, 103, 3)
        posix_spawn_file_actions_adddup2(&actions, 104, 4)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let arguments = [
            executable, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=\(self.profile.path)", "about:blank",
        ]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process = pid_t()
        let result = posix_spawn(&process, executable, &actions, nil, &words, environ)
        close(commands[0])
        close(answers[1])
        guard result == 0 else { throw Failure(description: "cannot start \(executable)") }
        self.process = process
        self.input = commands[1]
        let output = answers[0]
        Thread.detachNewThread { [weak self] in
            var unread: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(output, &buffer, buffer.count)
                guard count > 0 else { break }
                unread += buffer.prefix(count)
                while let end = unread.firstIndex(of: 0) {
                    self?.receive(Data(unread[..<end]))
                    unread.removeFirst(end + 1)
                }
            }
            close(output)
            self?.end()
        }
        let target = try await self.call("Target.createTarget", ["url": "about:blank"])
        let attached = try await self.call(
            "Target.attachToTarget",
            ["targetId": target["targetId"] ?? "", "flatten": true]
        )
        self.session.withLock { $0 = attached["sessionId"] as? String ?? "" }
        for domain in ["Page", "Runtime", "Log"] { _ = try await self.call("\(domain).enable") }
    }

    deinit {
        kill(self.process, SIGKILL)
        var status: Int32 = 0
        waitpid(self.process, &status, 0)
        close(self.input)
        try? FileManager.default.removeItem(at: self.profile)
    }

    // MARK: The page

    func resize(width: Int, height: Int, dark: Bool = false) async throws {
        _ = try await self.call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600]
        )
        let scheme = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        _ = try await self.call("Emulation.setEmulatedMedia", ["features": [scheme]])
    }

    func open(_ url: String) async throws {
        _ = try await self.call("Page.navigate", ["url": url])
    }

    /// The value of a JavaScript expression, as text.
    @discardableResult
    func evaluate(_ expression: String) async throws -> String {
        let parameters: [String: Any] = ["expression": expression, "awaitPromise": true, "returnByValue": true]
        let answer = try await self.call("Runtime.evaluate", parameters)
        guard answer["exceptionDetails"] == nil, let result = answer["result"] as? [String: Any] else {
            throw Failure(description: "\(expression): \(answer)")
        }
        return result["value"].map { "\($0)" } ?? ""
    }

    /// Returns when a JavaScript condition holds.
    func wait(until condition: String) async throws {
        while true {
            try Task.checkCancellation()
            // A page that is being replaced takes the promise with it.
            let check = "(() => { try { return Boolean(\(condition)) } catch { return false } })()"
            if let result = try? await self.evaluate(check), result == "1" || result == "true" { return }
            guard !self.state.withLock({ $0.hasEnded }) else { throw Failure(description: "the browser has gone") }
            _ = try? await self.evaluate("new Promise(requestAnimationFrame)")
        }
    }

    /// Presses a key and lets it go.
    func press(_ key: String) async throws {
        let codes = [
            "Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37, "Escape": 27,
            "End": 35, "Home": 36, " ": 32,
        ]
        for type in ["keyDown", "keyUp"] {
            var event: [String: Any] = [
                "type": type, "key": key, "code": key, "windowsVirtualKeyCode": codes[key] ?? 0,
            ]
            if key == "Enter" { event["text"] = "\r" }
            if key == " " { event["text"] = " " }
            _ = try await self.call("Input.dispatchKeyEvent", event)
        }
    }

    func type(_ text: String) async throws {
        _ = try await self.call("Input.insertText", ["text": text])
    }

    /// A picture of the page, as PNG.
    func screenshot() async throws -> Data {
        let answer = try await self.call("Page.captureScreenshot", ["format": "png"])
        return (answer["data"] as? String).flatMap { Data(base64Encoded: $0) } ?? Data()
    }

    // MARK: Messages

    private func call(_ method: String, _ parameters: [String: Any] = [:]) async throws -> [String: Any] {
        let id = self.state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        var message: [String: Any] = ["id": id, "method": method, "params": parameters]
        let session = self.session.withLock { $0 }
        if !session.isEmpty { message["sessionId"] = session }
        let bytes = try JSONSerialization.data(withJSONObject: message) + [0]
        let answer = try await withCheckedThrowingContinuation { (answer: Answer) in
            let hasEnded = self.state.withLock { state in
                if !state.hasEnded { state.waiting[id] = answer }
                return state.hasEnded
            }
            guard !hasEnded else { return answer.resume(throwing: Failure(description: "the browser has gone")) }
            bytes.withUnsafeBytes { buffer in
                var rest = buffer[...]
                while !rest.isEmpty {
                    let count = write(self.input, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    guard count > 0 else { return self.end() }
                    rest = rest.dropFirst(count)
                }
            }
        }
        if let error = answer.members["error"] { throw Failure(description: "\(method): \(error)") }
        return answer.members["result"] as? [String: Any] ?? [:]
    }

    private func receive(_ data: Data) {
        guard let members = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else { return }
        if let id = members["id"] as? Int {
            let waiting = self.state.withLock { $0.waiting.removeValue(forKey: id) }
            waiting?.resume(returning: Message(members: members))
        } else if let method = members["method"] as? String, let parameters = members["params"] as? [String: Any] {
            let isComplaint =
                method == "Runtime.exceptionThrown"
                || method == "Log.entryAdded" && (parameters["entry"] as? [String: Any])?["level"] as? String == "error"
                || method == "Runtime.consoleAPICalled" && parameters["type"] as? String == "error"
            if isComplaint { self.state.withLock { $0.complaints.append("\(parameters)") } }
        }
    }

    private func end() {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [:] }
            state.hasEnded = true
            return state.waiting.values
        }
        for answer in waiting { answer.resume(throwing: Failure(description: "the browser has gone")) }
    }
}
