import CommandLineSupport
import Foundation
import MobileTokenEmulator

/// The spaces of failed tests: their documents, and the summary at the end.
actor FailedSpaces {
    /// The maximum number of written spaces.
    private static let capacity = 100

    private let folder: String?
    private var failed: [Emulator.FailedSpace] = []
    private var names: Set<String> = []

    /// - Parameter folder: The path of the output folder; `nil` to write nothing.
    init(folder: String?) { self.folder = folder }

    /// Writes a space's documents; a failure is only reported.
    func add(_ space: Emulator.FailedSpace) {
        self.failed.append(space)
        guard let folder = self.folder, self.names.count < Self.capacity else { return }
        let path = folder + "/" + self.freeName(for: space.summary)
        if FileManager.default.fileExists(atPath: path) {
            Output.note("'\(TextTable.printable(path))' of an earlier run is replaced")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            for document in space.documents {
                try Emulator.writePrivately(document.content, to: path + "/" + document.name)
            }
        } catch {
            Output.note("'\(TextTable.printable(path))' cannot be written: \(error)")
        }
    }

    /// Prints the failed spaces, with their addresses if the server stays.
    ///
    /// - Returns: `true` if there are any.
    func show(areKept: Bool) -> Bool {
        for space in self.failed.prefix(Self.capacity) {
            let summary = space.summary
            let place = areKept ? "  \(summary.url)/console/" : ""
            let reason = summary.failure?.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
            Output.note(
                "Failed: \(TextTable.printable(summary.name ?? summary.id))\(place)  \(TextTable.printable(space.events))  "
                    + TextTable.printable(reason)
            )
        }
        if self.failed.count > Self.capacity { Output.note("… and \(self.failed.count - Self.capacity) more") }
        return !self.failed.isEmpty
    }

    /// Returns a folder name unique in this run, from the letters, digits, dots and dashes of the space's name.
    private func freeName(for summary: Emulator.SpaceSummary) -> String {
        let wanted = Self.safeName(summary.name ?? summary.id)
        var name = wanted
        var number = 2
        while !self.names.insert(name.lowercased()).inserted {
            name = "\(wanted)-\(number)"
            number += 1
        }
        return name
    }

    static func safeName(_ name: String) -> String {
        let bytes = name.utf8.prefix(100).map { byte in
            let isSafe =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            return isSafe ? byte : UInt8(ascii: "-")
        }
        let safe = String(decoding: bytes, as: UTF8.self)
        // Neither hidden nor another folder.
        return safe.utf8.first == UInt8(ascii: ".") ? "_" + safe : safe
    }
}
