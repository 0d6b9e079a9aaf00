import CZlib
import ExactJSON
import Foundation
import Testing

/// A case of the recordings: what the official servers were sent, and what they answered.
///
/// Every file is a case a line, as the recordings' README describes it. They are in the package, compressed; `POWERAUTH_RECORDINGS_DIR`
/// names a folder of other ones, which may hold cases that the package has not.
struct RecordedCase: Sendable {
    enum Suite: String, CaseIterable {
        case core, mobile, sequences
    }

    let name: String
    let area: String
    let record: JSONValue

    private static let folder = ProcessInfo.processInfo.environment["POWERAUTH_RECORDINGS_DIR"]
        .map { URL(filePath: $0, directoryHint: .isDirectory) }
    private static let resources = Bundle.module.resourceURL?.appending(path: "Recorded")
    /// A change runs a sample, `Scripts/test --full` and a folder of one's own run all of them.
    private static let isComplete = Self.folder != nil || ProcessInfo.processInfo.environment["RECORDINGS"] == "all"

    /// Returns the cases of a suite: all of them, or one of `stride` where a sample is enough.
    ///
    /// Left out is what the development server does differently on purpose: `on-purpose.json` names it.
    static func cases(of suite: Suite, sampledBy stride: Int) throws -> [Self] {
        let aside = try self.rulesOfWhatIsAside(for: suite)
        let lines = try self.lines(of: suite).split(separator: UInt8(ascii: "\n"))
        let chosen = self.isComplete ? Array(lines) : zip(0..., lines).filter { $0.0 % stride == 0 }.map(\.1)
        return try chosen.compactMap { line in
            let record = try JSONValue(parsing: Array(line), limits: JSONLimits(maximumDepth: 1000))
            let (name, area) = (record["name"]?.string ?? "", record["area"]?.string ?? "")
            return aside.contains { $0(area, name) } ? nil : Self(name: name, area: area, record: record)
        }
    }

    /// The names of the cases in which the development server still differs.
    static func knownDifferences(of suite: Suite) throws -> Set<String> {
        guard let file = self.resources?.appending(path: "known-differences-\(suite.rawValue).txt") else { return [] }
        return Set(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init))
    }

    /// Returns whether there are recordings of a suite: a folder may hold some files only.
    static func exists(_ suite: Suite) -> Bool {
        guard let file = self.folder?.appending(path: "\(suite.rawValue).jsonl") else { return true }
        return FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
    }

    private static func lines(of suite: Suite) throws -> [UInt8] {
        let file = self.folder?.appending(path: "\(suite.rawValue).jsonl")
        if let file { return Self.exists(suite) ? try [UInt8](Data(contentsOf: file)) : [] }
        let compressed = self.resources?.appending(path: "\(suite.rawValue).jsonl.gz")
        return try compressed.map { try [UInt8](Data(contentsOf: $0)).gunzipped() } ?? []
    }

    private static func rulesOfWhatIsAside(for suite: Suite) throws -> [(_ area: String, _ name: String) -> Bool] {
        let own = self.folder?.appending(path: "on-purpose.json")
        let file =
            own.flatMap { FileManager.default.fileExists(atPath: $0.path()) ? $0 : nil }
            ?? self.resources?.appending(path: "on-purpose.json")
        let rules = try file.map { try JSONValue(parsing: [UInt8](Data(contentsOf: $0))).array ?? [] } ?? []
        return try rules.compactMap { rule in
            guard rule["suite"].map({ $0.string == suite.rawValue }) ?? true else { return nil }
            let area = try Regex(rule["area"]?.string ?? "")
            let names = try Regex(rule["names"]?.string ?? "")
            return { $0.contains(area) && $1.contains(names) }
        }
    }
}

extension [UInt8] {
    /// The content of a gzip file.
    fileprivate func gunzipped() throws -> [UInt8] {
        var stream = z_stream()
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw CocoaError(.fileReadUnknown)
        }
        defer { inflateEnd(&stream) }
        var (input, output) = (self, [UInt8]())
        return try input.withUnsafeMutableBufferPointer { input in
            (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
            var status = Z_OK
            while status == Z_OK {
                output += [UInt8](unsafeUninitializedCapacity: 1 << 20) { piece, count in
                    (stream.next_out, stream.avail_out) = (piece.baseAddress, UInt32(piece.count))
                    status = inflate(&stream, Z_NO_FLUSH)
                    count = piece.count - Int(stream.avail_out)
                }
            }
            guard status == Z_STREAM_END else { throw CocoaError(.fileReadCorruptFile) }
            return output
        }
    }
}

enum RecordingOutcome: Sendable {
    case agrees
    case differs([RecordingDifference])
    /// The set-up, or what is wrong with the request, is none that the performer knows.
    case notPerformed(String)
}

/// Performs the cases of a suite, and judges them.
struct RecordingRun {
    let suite: RecordedCase.Suite
    /// The part of the cases that a sample has: one of so many.
    var stride: Int
    /// The number of cases in a hundred that may be left unperformed.
    var unperformedPercentage: Int

    /// Fails for every case that differs and is not known to, and for every one that agrees and is said to differ.
    func run(_ perform: @escaping @Sendable (RecordedCase) -> RecordingOutcome) async throws {
        let cases = try RecordedCase.cases(of: self.suite, sampledBy: self.stride)
        let known = try RecordedCase.knownDifferences(of: self.suite)
        var outcomes: [(name: String, outcome: RecordingOutcome)] = []
        try #require(!cases.isEmpty || !RecordedCase.exists(self.suite))
        await withTaskGroup(of: [(String, RecordingOutcome)].self) { group in
            for part in 0..<4 {
                group.addTask {
                    zip(0..., cases).filter { $0.0 % 4 == part }.map { ($0.1.name, perform($0.1)) }
                }
            }
            for await part in group { outcomes += part }
        }
        var (agreeing, listed, unperformed) = (0, 0, [String]())
        for (name, outcome) in outcomes {
            switch outcome {
            case .agrees where known.contains(name):
                Issue.record("\(name): it agrees by now; \(Self.advice)")
            case .agrees: agreeing += 1
            case .differs where known.contains(name): listed += 1
            case .differs(let differences):
                Issue.record("\(name): \(differences.map(\.description).joined(separator: "\n"))")
            case .notPerformed(let reason): unperformed.append("\(name): not performed, \(reason)")
            }
        }
        print(unperformed.sorted().joined(separator: "\n"))
        print("\(self.suite): \(agreeing) agree, \(listed) are known to differ, \(unperformed.count) not performed")
        #expect(unperformed.count * 100 <= self.unperformedPercentage * outcomes.count)
        try self.write(outcomes)
    }

    private static let advice = """
        to write the lists anew, run the tests with RECORDINGS=all RECORDINGS_RESULTS=Tests/Emulator/RecordingTests/Recorded
        """

    /// Writes the list anew to the folder that `RECORDINGS_RESULTS` names.
    private func write(_ outcomes: [(name: String, outcome: RecordingOutcome)]) throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_RESULTS"] else { return }
        let differing = outcomes.compactMap { name, outcome in
            if case .differs = outcome { name + "\n" } else { nil as String? }
        }
        let file = URL(filePath: folder).appending(path: "known-differences-\(self.suite.rawValue).txt")
        try Data(differing.sorted().joined().utf8).write(to: file)
    }
}
