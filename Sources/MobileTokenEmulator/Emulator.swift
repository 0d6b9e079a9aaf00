/// A strict PowerAuth backend for development and tests, in this process.
public final class Emulator: Sendable {
}
