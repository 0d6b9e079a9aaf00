package import Foundation
internal import Glibc
internal import Synchronization

/// Runs `body` with a headless Chromium, which is gone when this returns, however it does.
///
/// When the task is cancelled the browser ends at once, and with it whatever waits for it.
package func withBrowser<Result>(
    width: Int,
    height: Int,
    dark: Bool = false,
    _ body: (Browser) async throws -> Result
) async throws -> Result {
    let browser = try Browser()
    defer { browser.remove() }
    return try await withTaskCancellationHandler {
        try await browser.start()
        try await browser.resize(width: width, height: height, dark: dark)
        return try await body(browser)
    } onCancel: {
        browser.kill()
    }
}

/// A headless Chromium with one page, driven through a pair of pipes.
package final class Browser: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
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
        var requests: [String] = []
        var hasEnded = false
    }

    /// `nil` where no Chromium is installed.
    package static let executable: String? = [
        "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome",
    ]
    .first { (path: String) in access(path, X_OK) == 0 }

    private let process: BrowserProcess
    private let state = Mutex(State())
    private let session = Mutex("")

    /// The process, which leads a group with all its helpers.
    package var identifier: pid_t { self.process.identifier }

    /// Errors, exceptions and violations of the page's policy.
    package var complaints: [String] { self.state.withLock { $0.complaints } }

    /// The addresses that the page has asked for.
    package var requests: [String] { self.state.withLock { $0.requests } }

    fileprivate init() throws {
        guard let executable = Self.executable else { throw Failure(description: "no Chromium") }
        self.process = try BrowserProcess(executable)
    }

    fileprivate func start() async throws {
        Thread.detachNewThread {
            self.process.readAnswers(self.receive)
            self.end()
        }
        let target = try await self.call("Target.createTarget", ["url": "about:blank"])
        let attached = try await self.call(
            "Target.attachToTarget",
            ["targetId": target["targetId"] ?? "", "flatten": true]
        )
        self.session.withLock { $0 = attached["sessionId"] as? String ?? "" }
        for domain in ["Page", "Runtime", "Log", "Network", "Performance"] {
            _ = try await self.call("\(domain).enable")
        }
    }

    fileprivate func kill() { self.process.kill() }

    fileprivate func remove() {
        self.process.kill()
        self.process.remove()
    }

    // MARK: The page

    package func resize(width: Int, height: Int, dark: Bool = false) async throws {
        _ = try await self.call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600]
        )
        let scheme = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        _ = try await self.call("Emulation.setEmulatedMedia", ["features": [scheme]])
    }

    /// Asks the page to move nothing.
    package func reduceMotion() async throws {
        let feature = ["name": "prefers-reduced-motion", "value": "reduce"]
        _ = try await self.call("Emulation.setEmulatedMedia", ["features": [feature]])
    }

    package func open(_ url: String) async throws {
        _ = try await self.call("Page.navigate", ["url": url])
    }

    /// The value of a JavaScript expression, as text.
    @discardableResult
    package func evaluate(_ expression: String) async throws -> String {
        let parameters: [String: Any] = ["expression": expression, "awaitPromise": true, "returnByValue": true]
        let answer = try await self.call("Runtime.evaluate", parameters)
        guard answer["exceptionDetails"] == nil, let result = answer["result"] as? [String: Any] else {
            throw Failure(description: "\(expression): \(answer)")
        }
        return result["value"].map { "\($0)" } ?? ""
    }

    /// Returns when a JavaScript condition holds; what it waited for in vain is printed when the test's time is over.
    package func wait(until condition: String) async throws {
        // In the page, and not at every frame: to ask takes longer than most of what is waited for.
        let check = """
            new Promise((resolve) => {
              const check = () => {
                try { if (\(condition)) { return resolve() } } catch {}
                setTimeout(check, 20)
              }
              check()
            })
            """
        // A page that is replaced takes the promise with it.
        while (try? await self.evaluate(check)) == nil {
            guard !Task.isCancelled, !self.state.withLock({ $0.hasEnded }) else {
                print("✘ The browser never came to: \(condition)")
                throw Failure(description: "never came to \(condition)")
            }
        }
    }

    /// Clicks the first element that a selector finds.
    package func click(_ selector: String) async throws {
        try await self.evaluate("document.querySelector(\(Self.quoted(selector))).click()")
    }

    /// Puts a text into a field, as if typed.
    package func fill(_ selector: String, with text: String) async throws {
        let field = "document.querySelector(\(Self.quoted(selector)))"
        try await self.evaluate("\(field).focus(); \(field).select()")
        if text.isEmpty {
            try await self.evaluate("\(field).value = ''; \(field).dispatchEvent(new Event('input'))")
        } else {
            try await self.type(text)
        }
    }

    package func choose(_ value: String, in selector: String) async throws {
        try await self.evaluate(
            """
            { const select = document.querySelector(\(Self.quoted(selector))); select.value = \(Self.quoted(value)); \
            select.dispatchEvent(new Event('input', { bubbles: true })); }
            """
        )
    }

    /// A text as JavaScript writes it.
    package static func quoted(_ text: String) -> String {
        let json = try? JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)
        return json.map { String(decoding: $0, as: UTF8.self) } ?? "''"
    }

    /// Presses a key and lets it go.
    package func press(_ key: String) async throws {
        let codes = [
            "Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37, "Escape": 27,
            "End": 35, "Home": 36, " ": 32,
        ]
        for type in ["keyDown", "keyUp"] {
            var event: [String: Any] = [
                "type": type, "key": key, "code": key, "windowsVirtualKeyCode": codes[key] ?? 0,
            ]
            if key == "Enter" { event["text"] = "\r" }
            if key.utf8.count == 1, type == "keyDown" { event["text"] = key }
            _ = try await self.call("Input.dispatchKeyEvent", event)
        }
    }

    package func type(_ text: String) async throws {
        _ = try await self.call("Input.insertText", ["text": text])
    }

    /// A picture of the page, as PNG.
    package func screenshot() async throws -> Data {
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
        let command = try JSONSerialization.data(withJSONObject: message) + [0]
        let answer = try await withCheckedThrowingContinuation { (answer: Answer) in
            let hasEnded = self.state.withLock { state in
                if !state.hasEnded { state.waiting[id] = answer }
                return state.hasEnded
            }
            guard !hasEnded else { return answer.resume(throwing: Failure(description: "the browser has gone")) }
            self.process.send(command)
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
            if method == "Network.requestWillBeSent", let request = parameters["request"] as? [String: Any] {
                self.state.withLock { $0.requests.append("\(request["url"] ?? "")") }
            }
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
