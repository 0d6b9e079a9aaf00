import CommandLineSupport
import Foundation
import MobileToken
import Synchronization

/// The source of a password: a file, standard input, or the terminal without echo.
struct PasswordSource: Sendable {
    enum Place: Sendable {
        case terminal
        case standardInput
        case file(String)
    }

    let place: Place

    /// The options of commands that need a password.
    static let options = [
        Command.Option("password-file", "FILE", "read the password from a file, or /dev/fd/N; its first line counts"),
        Command.Option("password-stdin", nil, "read the password from standard input; its first line counts"),
    ]

    init(place: Place) { self.place = place }

    init(_ invocation: Invocation) throws {
        switch (invocation["password-file"], invocation.has("password-stdin")) {
        case (.some, true):
            throw invocation.misuse("--password-file and --password-stdin exclude each other")
        case (.some(let file), false): self.place = .file(file)
        case (nil, true): self.place = .standardInput
        case (nil, false): self.place = Session.environment("PASSWORD_FILE").map { .file($0) } ?? .terminal
        }
    }

    /// Reads the password. A terminal shows `prompt`.
    func read(prompt: String) throws -> SecretBytes {
        switch self.place {
        case .terminal: return try Self.ask(prompt)
        case .standardInput: return try SecretFile.firstLine(of: STDIN_FILENO, naming: "password")
        case .file(let path):
            return try SecretFile.firstLine(ofFile: path, naming: "password")
        }
    }

    /// Reads a new password. A terminal user types it twice, so that a typing error locks no user out.
    func readNew(prompt: String) throws -> SecretBytes {
        let password = try self.read(prompt: prompt)
        if case .terminal = self.place {
            guard try Self.ask("Repeat it: ") == password else {
                throw UsageError(message: "the two passwords differ")
            }
        }
        return password
    }

    private static func ask(_ prompt: String) throws -> SecretBytes {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw UsageError(message: "no terminal to ask for the password; use --password-file or --password-stdin")
        }
        defer { close(terminal) }
        var shown = termios()
        guard tcgetattr(terminal, &shown) == 0 else {
            throw UsageError(message: "the terminal cannot hide what is typed")
        }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // With ISIG off, an interrupt arrives as a byte, which ends the line like a line break.
        let interrupt: UInt8 = 3
        hidden.c_lflag &= ~tcflag_t(ISIG)
        withUnsafeMutableBytes(of: &hidden.c_cc) { $0[Int(VEOL)] = interrupt }
        Self.hiding.withLock { $0 = shown }
        tcsetattr(terminal, TCSAFLUSH, &hidden)
        defer {
            Self.showAgain()
            Self.write("\n", to: terminal)
        }
        Self.write(prompt, to: terminal)
        return try SecretFile.firstLine(of: terminal, naming: "password", interruptByte: interrupt)
    }

    /// The terminal's settings before the prompt.
    private static let hiding = Mutex<termios?>(nil)

    /// Restores the terminal's settings after a prompt. Call it before the process ends.
    static func showAgain() {
        guard var shown = self.hiding.withLock({ $0.take() }) else { return }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return }
        tcsetattr(terminal, TCSAFLUSH, &shown)
        close(terminal)
    }

    private static func write(_ string: String, to descriptor: CInt) {
        let bytes = Array(string.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
