internal import CommandLineSupport
internal import Foundation
internal import MobileToken
internal import Synchronization

/// Reads passwords: from a file, from standard input, or from the terminal without showing them.
struct PasswordSource: Sendable {
    enum Place: Sendable {
        case terminal
        case standardInput
        case file(String)
    }

    let place: Place

    /// The options by which a command takes a password.
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
        case (nil, false): self.place = .terminal
        }
    }

    /// The password; on a terminal it is asked for with `prompt`.
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
            return try Self.firstLine(of: descriptor)
        }
    }

    /// A new password. On a terminal it is asked for twice, so that a slip does not lock anybody out.
    func readNew(prompt: String) throws -> SecretBytes {
        let password = try self.read(prompt: prompt)
        if case .terminal = self.place {
            guard try Self.ask("The same again: ") == password else {
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

    /// How the terminal was before it hid what is typed.
    private static let hiding = Mutex<termios?>(nil)

    /// Lets the terminal show what is typed, if a prompt has hidden it. For before the process ends.
    static func showAgain() {
        guard var shown = self.hiding.withLock({ $0.take() }) else { return }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return }
        tcsetattr(terminal, TCSAFLUSH, &shown)
        close(terminal)
    }

    private static func write(_ text: String, to descriptor: CInt) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The bytes up to the first line break, read one at a time so that nothing after it is taken.
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
