import Foundation
import MobileTokenApprovals
import MobileTokenTesting
import TestSupport
import Testing

/// Processes that ask and act, killed at every arrow: nothing is done twice, nothing without an approval, and what was interrupted is shown.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KillTests {
    /// The place at which a process is killed.
    private enum Place {
        static let arrows = [
            "before=drafted", "after=drafted", "before=open", "after=open", "before=approved", "after=approved",
            "before=claimed",
            "after=claimed", "action=begin", "action=end", "before=done", "after=done",
        ]
    }

    private static let template = """
        {"name": "deploy", "data": "A9*R${binding}", "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
         "formData": {"title": "Deploy", "message": "${fingerprint}", "attributes": []}}
        """

    private struct Site {
        let emulator: Emulator
        let folder: TemporaryFolder
        var ledger: String { self.folder.path + "/ledger/approvals.sqlite" }
        var log: String { self.folder.file("actions") }

        /// Runs a process to its end, and returns the last line of its output.
        @discardableResult
        func run(_ id: String, _ place: String...) async throws -> String {
            let settings = [
                "ledger=\(self.ledger)", "url=\(self.emulator.cloudURL)", "user=\(self.emulator.cloudUser)",
                "password=\(self.emulator.cloudPassword)", "id=\(id)", "log=\(self.log)",
            ]
            let process = try ChildProcess(ChildProcess.besideTests("ApprovalExerciser"), settings + place)
            var last = ""
            while let line = await process.nextLine() { last = line }
            _ = await process.outcome()
            return last
        }

        func actions() throws -> [String: [String]] {
            let text = (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").reduce(into: [:]) { actions, line in
                let words = line.split(separator: " ").map(String.init)
                actions[words[0], default: []].append(words.count > 1 ? words[1] : "")
            }
        }

        func desk() async throws -> ApprovalDesk {
            try await ApprovalDesk(
                audience: "kill",
                cloud: try CloudClient(
                    baseURL: self.emulator.cloudURL,
                    credentials: .init(user: self.emulator.cloudUser, password: self.emulator.cloudPassword)
                ),
                ledger: .sqlite(path: self.ledger)
            )
        }

        /// Checks what must hold, whatever was killed when.
        func check(_ ids: [String]) async throws {
            let actions = try self.actions()
            let approved = Set(await self.emulator.operations().filter { $0.status == .approved }.map(\.id))
            let desk = try await self.desk()
            for id in ids {
                let done = actions[id] ?? []
                #expect(done.count <= 1, "\(id) was done twice")
                #expect(done.allSatisfy { approved.contains($0) }, "\(id) was done without an approval")
                let state = try await desk.tickets(id: id).first?.state
                switch state {
                case .done: #expect(done.count == 1, "\(id) is done, and was not")
                case .unknown: break
                case nil, .drafted, .open, .approved, .lapsed, .expired, .withdrawn:
                    #expect(done.isEmpty, "\(id) was done, and is \(state as Any)")
                default: Issue.record("\(id) is \(state as Any)")
                }
            }
            let unknown = try await desk.tickets(in: [.unknown]).map(\.id)
            for id in ids where actions[id]?.isEmpty == false {
                let state = try await desk.tickets(id: id).first?.state
                #expect(state == .done || unknown.contains(id))
            }
        }
    }

    private static func withSite(_ body: (Site) async throws -> Void) async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.templates = [self.template] }) { emulator in
            _ = try await emulator.makeDevice(userID: "alice")
            try await body(Site(emulator: emulator, folder: TemporaryFolder()))
        }
    }

    @Test func aProcessIsKilledAtEveryArrow() async throws {
        try await Self.withSite { site in
            for (index, place) in Place.arrows.enumerated() {
                let id = "arrow-\(index)"
                #expect(try await site.run(id, place) == "", "\(place)")  // killed before it could say anything
                // Whoever comes next goes on, or is told that it was done, or that nobody knows. A creation that is under way is waited for:
                // as long as it may arrive, nobody is asked once more.
                let mayArrive = place == "after=drafted" || place == "before=open"
                if mayArrive {
                    let count = await site.emulator.operations().count
                    #expect(try await site.run(id, "die-after=300000") == "", "\(place)")
                    #expect(await site.emulator.operations().count == count, "\(place)")
                }
                let outcome = mayArrive ? try await site.run(id, "ahead=60") : try await site.run(id)
                switch place {
                case "before=drafted", "after=drafted", "before=open", "after=open", "before=approved",
                    "after=approved",
                    "before=claimed":
                    #expect(outcome == "done", "\(place)")
                case "after=done": #expect(outcome == "alreadyPerformed done", "\(place)")
                default: #expect(outcome == "alreadyPerformed unknown", "\(place)")
                }
            }
            try await site.check(Place.arrows.indices.map { "arrow-\($0)" })
        }
    }

    @Test func processesAreKilledAtAnyMoment() async throws {
        let kills = ProcessInfo.processInfo.environment["APPROVAL_KILLS"].flatMap { Int($0) } ?? 30
        var generator = SeededGenerator()
        let delays = (0..<kills).map { _ in Int.random(in: 5_000...250_000, using: &generator) }
        try await Self.withSite { site in
            for (index, delay) in delays.enumerated() {
                // Two at once on one question, every third time.
                let id = "any-\(index)"
                if index.isMultiple(of: 3) {
                    async let other = site.run(id, "die-after=\(delay * 2)")
                    _ = try await (site.run(id, "die-after=\(delay)"), other)
                } else {
                    try await site.run(id, "die-after=\(delay)")
                }
            }
            try await site.check(delays.indices.map { "any-\($0)" })
        }
    }

    @Test func twoProcessesActOnce() async throws {
        try await Self.withSite { site in
            for number in 0..<4 {
                let id = "pair-\(number)"
                async let first = site.run(id)
                async let second = site.run(id)
                let outcomes = try await [first, second].sorted()
                #expect(outcomes.contains("done"))
                #expect(try site.actions()[id]?.count == 1)
            }
            try await site.check((0..<4).map { "pair-\($0)" })
        }
    }
}
