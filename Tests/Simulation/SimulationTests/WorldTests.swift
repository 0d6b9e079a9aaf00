import Foundation
import Testing
import TestSupport

/// Worlds that are lived through by the program `simulate`.
@Suite(.timeLimit(.minutes(10))) struct WorldTests {
    private static func simulate(_ arguments: [String]) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(ChildProcess.besideTests("simulate"), arguments)
    }

    /// The number of seeds; `SIMULATED_SEEDS` sets it.
    private static let seedCount = ProcessInfo.processInfo.environment["SIMULATED_SEEDS"] ?? "100"

    @Test func nothingGoesWrongInAHundredWorlds() async throws {
        let outcome = try await Self.simulate(["--seeds", Self.seedCount, "--rates", Self.rates])
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
        // Otherwise these were no bad days.
        let names = [
            "decisions", "unclean takeovers", "responses lost", "late requests", "requests judged late",
            "database answers lost", "upgrades",
            "operations changed", "questions withdrawn",
            "actions",
            "askers killed", "askers frozen", "outcomes refused", "decisions on a screen", "tokens asked for",
            "times that the database went back",
        ]
        for name in names {
            #expect(outcome.lines.contains { $0.hasPrefix("\(name): ") }, "no \(name)")
        }
    }

    /// `--quiet 1000` is the measurement of the simulation's speed.
    @Test func withoutTroubleEverythingIsDecided() async throws {
        let outcome = try await Self.simulate(["--quiet", "60"])
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.lines.contains("decisions: 60"))
    }

    /// A kind that is kept ten times as often as it comes is named, and so is one that never comes.
    @Test func aRateThatDiffersIsNamed() async throws {
        struct Rate: Codable { var value, error: Double }
        struct Rates: Codable {
            var worlds: Int
            var kinds: [String: Rate]
        }
        let kept = try Data(contentsOf: URL(filePath: Self.rates))
        var rates = try JSONDecoder().decode(Rates.self, from: kept)
        rates.kinds["intents"]?.value *= 10
        rates.kinds["miracles"] = Rate(value: 100, error: 1)
        let folder = try TemporaryFolder()
        let path = folder.path + "/rates.json"
        try JSONEncoder().encode(rates).write(to: URL(filePath: path))
        let outcome = try await Self.simulate(["--seeds", "10", "--rates", path])
        #expect(outcome.exitCode == 1)
        let named = outcome.lines.filter { $0.hasPrefix("FAILED: ") }.compactMap {
            $0.dropFirst("FAILED: ".count).split(separator: ":").first
        }
        #expect(named == ["intents", "miracles"], "\(outcome.output)")
    }

    @Test func oneSeedIsOneStory() async throws {
        let stories = [
            try await Self.simulate(["--seed", "3", "--steps"]), try await Self.simulate(["--seed", "3", "--steps"]),
        ]
        #expect(stories[0].outputBytes == stories[1].outputBytes)
        #expect(stories[0].lines.count > 1_000)
    }

    /// Neither what worlds before it have left in the process makes a difference, nor that some run at the same time.
    @Test(arguments: ["1", "2"]) func theStoryIsTheSameAfterOtherWorlds(threads: String) async throws {
        func steps(_ arguments: [String]) async throws -> Int {
            let lines = try await Self.simulate(arguments).lines
            let words = try #require(lines.first { $0.contains(" steps, ") }).split(separator: " ")
            let end = try #require(words.firstIndex(of: "steps,"))
            return try #require(Int(words[end - 1]))
        }
        var sum = 0
        for seed in 1...5 { sum += try await steps(["--seed", "\(seed)"]) }
        #expect(try await steps(["--seeds", "5", "--threads", threads]) == sum)
    }

    // MARK: Defects

    /// Those that a few seeds find, and what is said of them: one of several things, where which comes first is a matter of the seed.
    @Test(
        arguments: [
            ("approvesAll", ["was decided otherwise than the policy says"]),
            ("answersBeforeServer", ["an outcome says accepted before the bank did it"]),
            ("lostIsNeverSent", ["says refused, and the bank did it"]),
            ("noEndOfRight", ["its node's lease is over", "may sign by now"]),
            ("noQuarantine", ["a lease is taken in the quarantine"]),
            ("leaseOfAnyEpoch", ["a lease is taken in the quarantine"]),
            ("sendsTooLate", ["its node's lease is over", "may sign by now"]),
            (
                "permitAfterCounter",
                ["its node's lease is over", "may sign by now", "arrive later than its receipt says that it can"]
            ),
            ("keepsWeakToken", ["gave way to one of fewer factors"]),
            ("claimsAfterAction", ["ran twice", "its action had begun"]),
        ]
    )
    func aDefectIsFoundSoon(_ defect: String, _ violations: [String]) async throws {
        let outcome = try await Self.simulate(["--seeds", "40", "--defect", defect])
        #expect(outcome.exitCode == 1)
        #expect(violations.contains { outcome.output.contains($0) }, "\(outcome.output)")
    }

    /// Most worlds of a node that does not look after a frost find first that nothing is decided any more, which says little. One of a
    /// few tells what is wrong.
    @Test func aNodeThatDoesNotLookAfterAFrostIsFoundSoon() async throws {
        let outcome = try await Self.simulate(["--seeds", "20", "--defect", "noCheckAfterThaw", "--keep-going"])
        #expect(outcome.exitCode == 1)
        let violations = ["its node's lease is over", "may sign by now"]
        #expect(violations.contains { outcome.output.contains($0) }, "\(outcome.output)")
    }

    // MARK: Kept cases

    /// Plans that failed once, shortened.
    private static let cases = try? FileManager.default
        .contentsOfDirectory(atPath: Self.folder).filter { $0.hasSuffix(".json") }.sorted()
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Cases").path
    private static let rates = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rates.json").path

    @Test(arguments: Self.cases ?? [])
    func whatFailedOnceDoesSoNoMore(_ name: String) async throws {
        let outcome = try await Self.simulate(["--plan", "\(Self.folder)/\(name)"])
        #expect(outcome.exitCode == 0, "\(outcome.output)")
    }

    @Test func thereAreKeptCases() throws { #expect(try #require(Self.cases).count >= 1) }
}
