internal import Foundation
internal import Glibc
internal import Synchronization
internal import TestSupport

/// A headless Chromium, and the socket over which it takes commands and gives answers, each ended by a zero byte.
final class BrowserProcess: Sendable {
    let identifier: pid_t
    /// `nil` once the browser has gone.
    private let socket: Mutex<CInt?>
    private let profile: String

    init(_ executable: String) throws {
        self.profile = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID())").path
        // Closed in programs that other tests start at this moment: one that kept an end would keep the browser.
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Browser.Failure(description: "socketpair")
        }
        let (own, far) = (ends[0], ends[1])
        self.socket = Mutex(own)
        defer { close(far) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in 0...2 {
            posix_spawn_file_actions_addopen(&actions, CInt(descriptor), "/dev/null", O_RDWR, 0)
        }
        // The browser reads from 3 and writes to 4; neither may be closed when the program starts, as `far` itself is.
        posix_spawn_file_actions_adddup2(&actions, far, 100)
        for descriptor in [CInt(3), 4] { posix_spawn_file_actions_adddup2(&actions, 100, descriptor) }
        posix_spawn_file_actions_addclose(&actions, 100)
        var attributes = SpawnAttributes(leadsGroup: true)
        let arguments = [
            executable, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=\(self.profile)",
            // Pages draw, and so come to their turn, however busy the machine is and whichever tab is in front.
            "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
            "--disable-renderer-backgrounding",
            // A third of the time in which a browser starts goes into services that no page needs.
            "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
            "--disable-extensions", "--disable-sync", "--disable-features=MediaRouter,OptimizationHints,Translate",
            "about:blank",
        ]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var identifier = pid_t()
        guard posix_spawn(&identifier, executable, &actions, &attributes.raw, &words, environ) == 0 else {
            close(own)
            throw Browser.Failure(description: "cannot start \(executable)")
        }
        self.identifier = identifier
    }

    /// Sends a command; one to a browser that has gone is lost.
    func send(_ command: Data) {
        self.socket.withLock { socket in
            guard let socket else { return }
            var rest = command[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Reads answers until the browser goes; blocks.
    func readAnswers(_ receive: (Data) -> Void) {
        guard let socket = self.socket.withLock({ $0 }) else { return }
        var unread: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(socket, &buffer, buffer.count), count > 0 {
            unread += buffer.prefix(count)
            while let end = unread.firstIndex(of: 0) {
                receive(Data(unread[..<end]))
                unread.removeFirst(end + 1)
            }
        }
        self.socket.withLock { $0 = nil }
        close(socket)
    }

    /// Ends the browser and all its helpers.
    func kill() { _ = Glibc.kill(-self.identifier, SIGKILL) }

    /// Waits for the end and removes what the browser wrote.
    func remove() {
        var status: CInt = 0
        while waitpid(self.identifier, &status, 0) < 0, errno == EINTR {}
        // A helper may write its last file while it dies.
        for _ in 0..<100 where FileManager.default.fileExists(atPath: self.profile) {
            try? FileManager.default.removeItem(atPath: self.profile)
        }
    }
}
