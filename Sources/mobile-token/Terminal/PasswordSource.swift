import CommandLineSupport
import Foundation
import MobileToken
import Synchronization

/// The source of a password: a file, standard input, or the terminal, which does not show it.
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
            throw UsageError(
                message: "--password-file and --password-stdin exclude each other",
                command: invocation.command
            )
        case (.some(let file), false): self.place = .file(file)
        case (nil, true): self.place = .standardInput
        case (nil, false): self.place = Session.environment("PASSWORD_FILE").map { .file($0) } ?? .terminal
        }
    }

    /// Reads the password. A terminal shows `prompt`.
    func read(prompt: String) throws -> SecretBytes {
        switch self.place {
        case .terminal: return try Self.ask(prompt)
        case .standardInput: return try Self.firstLine(of: FileHandle.standardInput.fileDescriptor)
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw UsageError(message: "cannot read the password file: \(String(cString: strerror(errno)))")
            }
            defer { close(descriptor) }
            Self.warn(ofOthersUsing: descriptor, path)
            return try Self.firstLine(of: descriptor)
        }
    }

    /// Says so when others can read the password. The group may: service managers hand secrets over so.
    private static func warn(ofOthersUsing descriptor: CInt, _ path: String) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o037 != 0 else {
            return
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        Output.note("mobile-token: others may use \(TextTable.printable(path)), whose mode is 0\(mode)")
    }

    /// Reads a new password. On a terminal it must be typed twice, so that a typing mistake locks nobody out.
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
        // With ISIG off, an interrupt arrives as a byte, which ends the line as a line break does.
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
        return try Self.firstLine(of: terminal, interruptByte: interrupt)
    }

    /// The settings of the terminal before the prompt.
    private static let hiding = Mutex<termios?>(nil)

    /// Restores the settings of the terminal, if a prompt has changed them. Call it before the process ends.
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

    /// Reads the bytes up to the first line break, one at a time so that nothing after it is consumed.
    ///
    /// - Throws: `CancellationError` when `interruptByte` comes first.
    private static func firstLine(of descriptor: CInt, interruptByte: UInt8? = nil) throws -> SecretBytes {
        let limit = 1024
        var count = 0
        var isInterrupted = false
        var failure: CInt = 0
        let buffer = SecretBytes(count: limit) { bytes in
            var byte: UInt8 = 0
            while count < limit {
                let got = Glibc.read(descriptor, &byte, 1)
                if got < 0 {
                    if errno == EINTR { continue }
                    failure = errno
                }
                guard got == 1, byte != UInt8(ascii: "\n") else { break }
                if byte == interruptByte {
                    isInterrupted = true
                    break
                }
                bytes[count] = byte
                count += 1
            }
            if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        }
        guard !isInterrupted else { throw CancellationError() }
        guard failure == 0 else {
            throw UsageError(message: "cannot read the password: \(String(cString: strerror(failure)))")
        }
        guard count < limit else { throw UsageError(message: "the password is longer than \(limit - 1) bytes") }
        let length = count
        return buffer.withUnsafeBytes { all in SecretBytes(copying: all.prefix(length)) }
    }
}
