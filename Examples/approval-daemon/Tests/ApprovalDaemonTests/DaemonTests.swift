import ExactJSON
import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import MobileTokenReceipts

@testable import ApprovalDaemon

/// The daemon at a real bank, over real sockets, in time that a test lets pass.
@Suite(.timeLimit(.minutes(4)), .serialized) struct DaemonTests {
    @Test func aPaymentWithinTheRulesIsApprovedAndEverythingElseIsLeft() async throws {
        try await Stage.with { stage in
            let small = try await stage.createOperation("payment", amount: "50")
            let left = [
                try await stage.createOperation("payment", amount: "50.01"),
                try await stage.createOperation("payment", amount: "1", account: "CZ2730300000001165254011"),
                try await stage.createOperation("login"),
                try await stage.createOperation("payment_suspicious", amount: "1"),
            ]
            try await stage.withDaemon { daemon in
                #expect(await stage.emulator.decision(on: small)?.status == .approved)
                for reason in ["overLimit", "accountNotAllowed", "unknownTemplate", "incomplete"] {
                    let text = "mobile_token_operations_left_total{reason=\"\(reason)\"} 1.0"
                    _ = try await daemon.waitForMetrics(with: text)
                }
                // A payment that is made now is approved after the others were left.
                let last = try await stage.createOperation("payment", amount: "1")
                #expect(await stage.emulator.decision(on: last)?.status == .approved)
                for operation in left {
                    #expect(try await stage.emulator.cloud.operation(operation).status == .pending)
                }
            }

            let receipts = try await stage.receipts()
            #expect(receipts.map(\.intent.personalData?.operationID).first == small)
            #expect(receipts.map(\.outcome?.result) == [.accepted, .accepted])
            #expect(receipts.allSatisfy { $0.intent.policy?.name == "small payments" && $0.intent.isComplete == true })
            // They were exported when the daemon ended, and nobody has changed them.
            let verification = try await ReceiptArchive(folder: stage.receiptFolder).verify()
            #expect(verification.fault == nil)
            #expect(verification.counts.intents == 2)

            let log = try stage.checkLog(try String(contentsOfFile: stage.logFile, encoding: .utf8))
            let messages = log.compactMap { $0["message"]?.string }
            #expect(messages.first == "started")
            #expect(messages.suffix(1) == ["stopped"])
            #expect(messages.contains("decision ended"))
            let reasons = log.filter { $0["kind"]?.string == "left" }.compactMap { $0["reason"]?.string }
            #expect(reasons.sorted() == ["accountNotAllowed", "incomplete", "overLimit", "unknownTemplate"])
        }
    }

    @Test func whatIsOverALimitIsLeft() async throws {
        try await Stage.with { stage in
            let limits = #"[{"name": "sum", "of": "activation", "hours": 1, "count": 9, "sum": {"CZK": 60}}]"#
            try await stage.withDaemon(["APPROVAL_DAEMON_POLICY_LIMITS": limits]) { daemon in
                let first = try await stage.createOperation("payment", amount: "40")
                #expect(await stage.emulator.decision(on: first)?.status == .approved)
                let second = try await stage.createOperation("payment", amount: "20.01")
                _ = try await daemon.waitForMetrics(
                    with: "mobile_token_operations_left_total{reason=\"limitReached\"} 1.0"
                )
                #expect(try await stage.emulator.cloud.operation(second).status == .pending)
                let text = try await daemon.waitForMetrics(with: #"daemon_limit_used{limit="sum",currency="CZK"} 40.0"#)
                #expect(text.contains(#"approval_daemon_limit_allowed{limit="sum"} 9.0"#))
                #expect(text.contains(#"approval_daemon_limit_used{limit="sum"} 1.0"#))
            }
            #expect(try await stage.receipts().map { $0.intent.charges.map(\.amount) } == [[1, 40]])
        }
    }

    @Test func healthFollowsTheBank() async throws {
        try await Stage.with { stage in
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilWell("/ready")
                try await daemon.waitUntilWell()
                try await stage.emulator.withFault(.unavailable()) {
                    try await daemon.waitUntilUnwell(because: "bankAway")
                    // A restart would not bring the bank back.
                    #expect(try await daemon.get("/ready").status == 200)
                    #expect(try await daemon.get("/metrics").body.contains("approval_daemon_healthy 0.0"))
                }
                try await daemon.waitUntilWell()
            }
        }
    }

    /// The answer keeps the last failure when it is over, and says so.
    @Test func healthTellsAPassingFailureFromALastingOne() async throws {
        try await Stage.with { stage in
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilWell()
                try await stage.emulator.withFault(.unavailable()) {
                    let failure = try await daemon.waitForHealth { $0["lastFailure"] }
                    #expect(failure["isOver"]?.bool == false)
                    #expect(failure["activation"]?.string == stage.activationID)
                    #expect(failure["error"]?.string?.isEmpty == false)
                }
                let age = try await daemon.waitForHealth { health in
                    health["lastFailure"]?["isOver"]?.bool == true ? health["lastFailure"]?["ageSeconds"]?.int64 : nil
                }
                // Nothing new has failed, so it grows older.
                _ = try await daemon.waitForHealth { health in
                    health["lastFailure"]?["ageSeconds"]?.int64.flatMap { $0 > age + 10 ? $0 : nil }
                }
                #expect(try await daemon.get("/health").status == 200)
            }
        }
    }

    /// A store that was put back is found out at the start: no payment is lost to it.
    @Test func aStoreThatWasRolledBackIsUnwellBeforeAnythingIsSigned() async throws {
        try await Stage.with { stage in
            try await stage.emulator.advanceCounter(ofActivation: stage.activationID, by: 26)
            let position = await stage.emulator.journalPosition
            let operation = try await stage.createOperation("payment", amount: "2")
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilUnwell(because: "activationStopped")
                let health = try JSONValue(parsing: try await daemon.get("/health").body)
                #expect(health["status"]?.string == "unwell")
                #expect(health["activations"]?["rolledBack"]?.int64 == 1)
                let metrics = try await daemon.get("/metrics").body
                #expect(metrics.contains("approval_daemon_activations{phase=\"rolledBack\"} 1.0"))
            }
            #expect(try await stage.emulator.cloud.operation(operation).status == .pending)
            #expect(await stage.emulator.requests(to: "/api/auth/**", since: position).isEmpty)
        }
    }

    @Test func anActivationThatIsBlockedOrRemovedAsksForAPerson() async throws {
        try await Stage.with { stage in
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilWell()
                try await stage.emulator.blockActivation(stage.activationID)
                try await daemon.waitUntilUnwell(because: "activationWaiting")
                try await stage.emulator.unblockActivation(stage.activationID)
                try await daemon.waitUntilWell()
                try await stage.emulator.removeActivation(stage.activationID)
                try await daemon.waitUntilUnwell(because: "activationStopped")
            }
        }
    }

    @Test func aPauseOfTheStoreShowsInHealth() async throws {
        try await Stage.with { stage in
            let store = ActivationStore.sqlite(path: stage.storePath)
            let client = try stage.emulator.makeClient { $0.store = store }
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilWell()
                try await client.pauseDeciding(reason: "audit")
                let operation = try await stage.createOperation("payment", amount: "2")
                try await daemon.waitUntilUnwell(because: "decidingPaused")
                #expect(try await stage.emulator.cloud.operation(operation).status == .pending)
                try await client.resumeDeciding()
                #expect(await stage.emulator.decision(on: operation)?.status == .approved)
            }
            await store.close()
        }
    }

    /// An operation that nobody can read is one that nobody decides: number 6.
    @Test func anOperationThatCannotBeReadShowsInHealthAndMetrics() async throws {
        let list = #"{"status":"OK","responseObject":[{"id":"41"}]}"#
        try await Stage.with { stage in
            try await stage.withDaemon { daemon in
                try await daemon.waitUntilWell()
                let page = FaultRule.Effect(page: .init(.before, status: 200, text: list))
                try await stage.emulator.withFault(page, on: "/api/auth/token/app/operation/list") {
                    try await daemon.waitUntilUnwell(because: "operationUnreadable")
                    #expect(try await daemon.waitForHealth { $0["unreadable"]?.int64 } == 1)
                    _ = try await daemon.waitForMetrics(with: "approval_daemon_operations_unreadable 1.0")
                }
                try await daemon.waitUntilWell()
                _ = try await daemon.waitForMetrics(with: "approval_daemon_operations_unreadable 0.0")
            }
        }
    }

    @Test func everyMetricIsInTheREADMEAndEveryLineParses() async throws {
        try await Stage.with { stage in
            let operation = try await stage.createOperation("payment", amount: "2")
            try await stage.withDaemon { daemon in
                #expect(await stage.emulator.decision(on: operation)?.status == .approved)
                var text = ""
                while !text.contains("mobile_token_decisions_total") { text = try await daemon.get("/metrics").body }
                let names = try Prometheus.check(text)
                #expect(names.isSuperset(of: ["mobile_token_decisions_total", "approval_daemon_healthy"]))
                #expect(names.isSubset(of: MetricCatalog.help.keys))
            }
        }
    }

    /// The receipts that wait for an export are counted once a minute, whoever exports them.
    @Test func theReceiptsThatWaitForAnExportAreMeasured() async throws {
        try await Stage.with { stage in
            let operation = try await stage.createOperation("payment", amount: "2")
            let daily = ["APPROVAL_DAEMON_RECEIPTS_EXPORT_INTERVAL_SECONDS": "86400"]
            try await stage.withDaemon(daily) { daemon in
                #expect(await stage.emulator.decision(on: operation)?.status == .approved)
                let text = try await daemon.waitForMetrics(with: "approval_daemon_receipts_unexported 2.0")
                #expect(!text.contains("approval_daemon_receipts_exported_timestamp_seconds"))
                #expect(text.contains("approval_daemon_receipts_bytes "))

                let store = ActivationStore.sqlite(path: stage.storePath)
                try await ReceiptArchive(folder: stage.receiptFolder).export(from: store)
                await store.close()
                let after = try await daemon.waitForMetrics(with: "approval_daemon_receipts_unexported 0.0")
                #expect(after.contains("approval_daemon_receipts_exported_timestamp_seconds 1"))
            }
        }
    }

    @Test func aPasswordThatIsMissingIsTriedAgainWhenTheFileIsMended() async throws {
        try await Stage.with { stage in
            try stage.folder.write("passwords", "somebody-else 1234\n")
            let operation = try await stage.createOperation("payment", amount: "2")
            try await stage.withDaemon { daemon in
                while !(try await daemon.get("/metrics").body.contains(#"agent_events_total{kind="retrying"}"#)) {}
                #expect(try await stage.emulator.cloud.operation(operation).status == .pending)
                try stage.folder.write("passwords", "* \(Stage.password)\n")
                #expect(await stage.emulator.decision(on: operation)?.status == .approved)
            }
        }
    }

    @Test func aStoreOfAnotherKeyKeepsItFromStarting() async throws {
        try await Stage.with { stage in
            try stage.folder.write("store/activations.sqlite.key", String(repeating: "x", count: 32))
            let error = await #expect(throws: ConfigurationError.self) { try await stage.withDaemon { _ in } }
            #expect(error?.setting == "store.sealingKey")
        }
    }
}

/// The text format of Prometheus, as far as a scraper checks it.
enum Prometheus {
    /// Returns the names of the metrics.
    static func check(_ text: String) throws -> Set<String> {
        #expect(text.hasSuffix("\n"))
        var types: [String: String] = [:]
        var series: Set<String> = []
        for line in text.split(separator: "\n").map(String.init) {
            if let match = line.wholeMatch(of: #/# TYPE ([a-z_]+) (counter|gauge|histogram)/#) {
                #expect(types[String(match.1)] == nil, "\(match.1) comes twice")
                types[String(match.1)] = String(match.2)
            } else if line.hasPrefix("# HELP ") {
                #expect(line.split(separator: " ").count > 3)
            } else {
                let match = try #require(line.wholeMatch(of: Self.sample), "not a sample: \(line)")
                #expect(series.insert("\(match.1)\(match.2 ?? "")").inserted, "comes twice: \(line)")
                let family = String(match.1).replacing(#/_(bucket|sum|count)$/#, with: "")
                #expect(types[String(match.1)] ?? types[family] != nil, "has no type: \(line)")
                #expect(Double(String(match.3)) != nil)
            }
        }
        return Set(types.keys)
    }

    private static var sample: Regex<(Substring, Substring, Substring?, Substring)> {
        let label = #"[a-z_]+="(?:[^"\\\n]|\\["\\n])*""#
        // The pattern is a constant; were it wrong, nothing would match and every test fail.
        return (try? Regex(#"([a-z_]+)(\{\#(label)(?:,\#(label))*\})? ([-+0-9.e]+)"#)) ?? #/(x)(y)?(z)/#
    }
}
