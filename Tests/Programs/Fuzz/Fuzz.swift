import Foundation

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Feeds one target with whatever libFuzzer thinks of: `Fuzz NAME [libFuzzer's options]`, or `Fuzz --list`.
@main enum Fuzz {
    // Set once before libFuzzer, which calls back on the same thread, begins.
    nonisolated(unsafe) private static var target: FuzzTarget?

    static func main() {
        let name = CommandLine.arguments.dropFirst().first ?? "--list"
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            for target in FuzzTarget.all { print(target.name) }
            exit(name == "--list" ? 0 : 64)
        }
        self.target = target
        // The driver sees the arguments without the name.
        var arguments = CommandLine.unsafeArgv
        arguments[1] = arguments[0]
        arguments += 1
        var count = CommandLine.argc - 1
        exit(
            runDriver(&count, &arguments) { bytes, count in
                Fuzz.target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            }
        )
    }
}
