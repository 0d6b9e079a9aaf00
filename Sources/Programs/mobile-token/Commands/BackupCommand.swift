import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken

/// A local copy of the store.
enum BackupCommand {
    static let all = [backup]

    private static let backup = Command(
        "store",
        "backup",
        summary: "Copy the profile's store into a file, while it is in use, and check the copy.",
        discussion: """
            FILE must not exist yet, and only its owner can read it. It appears once the copy is whole: SQLite has read all of it, and
            every activation in it has opened. It does not hold the sealing key. The page Backing up and upgrading says how to put a copy
            back.
            """,
        operands: [.init("FILE", "where the copy goes")],
        options: [.init("file", "STORE", "the SQLite store to copy, in place of a profile's")]
    ) { invocation in
        let target = try invocation.required(0)
        guard !FileManager.default.fileExists(atPath: target) else {
            throw invocation.misuse("there is a file \(target) already")
        }
        let store =
            try LocalStore(invocation, sealingKey: "sealing-key")
            ?? LocalStore(of: ProfileHome(invocation).profile(invocation), invocation.sealingKey("sealing-key"))
        let ids = try await store.run { try await $0.backUp(to: target) }
        Output(isJSON: invocation.has("json")).outcome(
            ["file": .string(target), "activations": .array(ids.map { .string($0) })],
            text: "Activations copied and checked: \(ids.count)."
        )
        return .done
    }
}
