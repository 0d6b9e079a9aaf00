import EmulatorBackend
import MobileToken
import MobileTokenCloud

// The end of a world, and its final conditions.
extension World {
    /// Ends all failures.
    func calmDown() {
        self.simulator.note("— the trouble ends")
        self.calmSince = self.simulator.now
        (self.chances, self.outageUntil, self.cutPeople) = (Plan.Chances(), 0, [])
        (self.isDatabaseAway, self.isDiskFull, self.outcomesFrom, self.database.pause) = (false, false, 0, nil)
        self.amendments = 0
        for asker in self.asker.programs {
            (asker.isCut, asker.fates) = (false, [])
            self.thaw(asker)
        }
        for device in self.setting.devices { self.unblock(device.activationID) }
        for node in self.nodes {
            (node.isCut, node.fates, node.stall, node.leaseStall) = (false, [], nil, nil)
            if let process = node.process {
                self.simulator.freeze(process, false)
                self.simulator.setWeight(1, of: process)
            } else {
                self.restart(node, 1)
            }
        }
    }

    /// Waits until all work has ended, and checks the result.
    func settle() {
        let end = self.simulator.now + (Self.patience + self.proxyTimeout * 4).nanoseconds
        // Lists may lag behind the bank this long.
        self.pass(.nanoseconds(Self.lag))
        while self.judge.violation == nil, self.simulator.now < end, !self.isSettled { self.pass(.seconds(2)) }
        // A person who began late looks at a list for a minute or two, and decides on it.
        let close = self.simulator.now + Self.longestLook
        while self.judge.violation == nil, self.simulator.now < close, self.busyPeople > 0 { self.pass(.seconds(2)) }
        for problem in self.undecided + self.differences() { self.judge.fail(problem) }
        self.checkBlocked()
        self.checkQuestions()
    }

    var isSettled: Bool {
        self.undecided.isEmpty && !self.database.entries.contains { $0.isOpen }
            && self.asker.programs.allSatisfy(\.isIdle) && self.busyPeople == 0
            && self.differences().isEmpty
    }

    /// The longest time that people still look at lists after the trouble: 220 s, and their last decisions.
    private static let longestLook: Int64 = 300_000_000_000

    /// The time after a change in which it may still be unseen.
    static let lag: Int64 = 15_000_000_000

    /// Returns the fleets' differences from the bank's lists, and unfinished work.
    func differences() -> [String] {
        let done = Counter()
        let processes = self.nodes.compactMap { node in node.process.map { (node, $0) } }
        for (node, process) in processes {
            node.differences = []
            guard let polled = node.polled else { continue }
            self.simulator.spawn(in: process) {
                let own = await polled().sorted()
                for id in own {
                    let device = self.setting.devices.firstIndex { $0.activationID == id } ?? -1
                    let (waiting, fresh) = self.judge.pending(of: device, since: self.simulator.now - Self.lag)
                    let shown = node.shown[id] ?? []
                    guard !shown.symmetricDifference(waiting).isSubset(of: fresh), !self.isDifferent(id)
                    else { continue }
                    node.differences.append(
                        "\(node.name) shows \(shown.count) operations of \(id), and \(waiting.count) wait"
                    )
                }
                let count = await node.decisionsInFlight?() ?? 0
                // The outcome of a lost activation's decision is requested now and then, forever.
                if count > 0, !own.contains(where: self.isDifferent) {
                    node.differences.append("\(node.name) has \(count) decisions in flight")
                }
                done.add()
            }
        }
        let expected = processes.count { $0.0.polled != nil }
        self.runUntil(.seconds(5)) { done.count == expected }
        return processes.flatMap(\.0.differences) + self.unfairShares
    }

    /// The unowned buckets, and those beyond a node's fair share.
    var unfairShares: [String] {
        let pollers = self.database.nodes.filter(\.value.polls)
        guard !pollers.isEmpty else { return [] }
        let counts = Dictionary(self.database.buckets.values.map { ($0, 1) }, uniquingKeysWith: +)
        let share = BucketShare().fairShare(among: pollers.count)
        let free = OperationsFleet.Buckets.count - self.database.buckets.count
        return (free > 0 ? ["nobody has \(free) buckets"] : [])
            + pollers.compactMap { number, node in
                let count = counts[number] ?? 0
                return count > share ? "\(node.name) has \(count) buckets, and its share is \(share)" : nil
            }.sorted()
    }

    func isDifferent(_ id: String) -> Bool {
        self.judge.lostKeys.contains(id) || self.judge.wrongFactor == id || self.judge.stopped[id] != nil
            || self.isSaidBlocked(id, at: self.simulator.now)
    }

    private func isSaidBlocked(_ id: String, at time: Int64) -> Bool {
        self.judge.saidBlocked[id]?.contains { $0.contains(time) } ?? false
    }

    /// The operations that a policy decides and that are neither decided nor excused.
    var undecided: [String] {
        self.judge.operations.filter { id, operation in
            // A blocked activation is checked every five minutes; until then its recovery is unknown.
            let activationID = self.setting.devices[operation.device].activationID
            return
                (operation.isPending || operation.hasExpired && operation.kind.template != Plan.Kind.question.template)
                && operation.kind.isApproved != nil && !self.judge.excused.contains(id)
                && !self.isDifferent(activationID) && !self.hasExpiredInTrouble(operation)
                && !self.hasExpiredUnseen(id, operation)
                && !(operation.hasExpired && self.isSaidBlocked(activationID, at: operation.ended))
        }.values.sorted { $0.made < $1.made }.map { "\($0.name) was not decided, and nobody says why" }
    }

    /// The longest time between two attempts at a decision.
    private static let longestRetry: Int64 = 60_000_000_000

    /// Returns whether an operation expired in the trouble, or before another attempt after it, and an agent had trouble until then
    /// with its activation, whose operations it decides one after the other.
    private func hasExpiredInTrouble(_ operation: Judge.Operation) -> Bool {
        operation.hasExpired && operation.ended - Self.longestRetry < self.calmSince
            && self.judge.trace.hasRetried(since: max(operation.made, operation.ended - Self.longestRetry)) {
                self.judge.operations[$0]?.device == operation.device
            }
    }

    /// Returns whether an operation changed a short while before it expired in the trouble, and no list with the change was answered.
    private func hasExpiredUnseen(_ id: String, _ operation: Judge.Operation) -> Bool {
        operation.hasExpired && operation.ended < self.calmSince
            && self.judge.trace.hasChangedUnseen(id, since: operation.ended - Self.longestRetry)
    }

    func checkBlocked() {
        for device in self.setting.devices
        where self.backend.state.activations[device.activationID]?.status == .blocked
            && self.judge.wrongFactor != device.activationID
        {
            self.judge.fail("\(self.deviceNames[device.activationID] ?? "") is blocked, and not by the bank")
        }
    }

    func end() {
        guard self.judge.violation == nil else { return }
        self.isEnding = true
        for process in self.asker.programs.compactMap(\.process) { self.simulator.kill(process) }
        for node in self.nodes {
            guard let process = node.process, let stop = node.stop else { continue }
            self.simulator.post(to: process) { stop() }
        }
        if !self.runUntil(.seconds(120), { self.nodes.allSatisfy { $0.process == nil } }) {
            self.judge.fail("a process did not end: \(self.simulator.livingTasks)")
        }
        if !self.database.nodes.isEmpty || !self.database.buckets.isEmpty || !self.database.handoverRequests.isEmpty {
            self.judge.fail("leases, buckets or requests are left in the database")
        }
        self.audit()
    }

    /// Reads all receipts, as an auditor does.
    func audit() {
        guard self.judge.violation == nil else { return }
        let node = Node("auditor", -1, self.nodes[0].marks)
        let process = self.simulator.makeProcess("auditor")
        let done = Counter()
        self.simulator.spawn(in: process) {
            do {
                let (_, store) = try self.client(SimulatedDriver(node, in: self), isAutomatic: false)
                let receipts = try await store.receipts(of: nil, after: 0, limit: 10_000)
                self.judge.audit(receipts, at: self.simulator.now, self.book(of:)) { self.simulator.note($0) }
                await store.close()
            } catch {
                self.judge.fail("the receipts cannot be read: \(error)")
            }
            done.add()
        }
        if !self.runUntil(.seconds(60), { done.count > 0 }) { self.judge.fail("the auditor did not end") }
        let living = self.simulator.livingTasks
        if !living.isEmpty { self.judge.fail("tasks are left: \(living)") }
        let undead = self.remains.count { $0.fleet != nil || $0.agent != nil }
        if undead > 0 { self.judge.fail("\(undead) processes that have ended hold a fleet or an agent") }
    }
}
