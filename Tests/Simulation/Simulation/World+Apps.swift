import MobileToken
import MobileTokenScreens
import PowerAuth

// People's apps, which show a list.
extension World {
    /// A person looks at a device's list: on one screen that is told what expires, or on two that poll side by side.
    func look(_ index: Int, _ seconds: Int) {
        let isWatching = self.draw.happens(0.6)
        self.judge.count("lists looked at")
        if isWatching { self.make(.brief, index) }
        self.asPerson(index, isLooking: isWatching ? .watching(device: index) : .polling) { client, activation in
            let app = App(
                service: client.makeOperationsService(for: activation),
                process: self.simulator.currentProcess
            )
            let reading = Task { await self.read(app) }
            if isWatching {
                try await self.watch(app, activation, device: index, seconds)
            } else {
                try await self.poll(app, device: index, seconds)
            }
            reading.cancel()
            await reading.value
        }
    }

    /// An app, and the operations that it shows.
    private final class App: @unchecked Sendable {  // used in the thread of its simulator alone
        let service: OperationsService
        let process: Simulator.Process
        var operations: [UserOperation] = []

        init(service: OperationsService, process: Simulator.Process) {
            self.service = service
            self.process = process
        }
    }

    /// One screen, until a while after the network or the bank is gone.
    private func watch(_ app: App, _ activation: Activation, device: Int, _ seconds: Int) async throws {
        let watcher = ExpirationWatcher(activation: activation, clock: self.clock)
        let watching = Task { await watcher.watch(app.service) }
        let polling = Task { try await app.service.poll(every: .seconds(120)) }
        let quiet = 3 + self.draw.below(12)
        try? await self.clock.sleep(for: .seconds(quiet))
        if self.draw.happens(0.5) {
            self.simulator.note("loses the network")
            self.cutPeople.append(app.process)
        } else {
            self.outageUntil = max(self.outageUntil, min(self.simulator.now + 40_000_000_000, self.calmSince))
        }
        try? await self.clock.sleep(for: .seconds(seconds - quiet))
        polling.cancel()
        watching.cancel()
        await watching.value
        _ = await polling.result
    }

    /// Two screens, one of which is closed as it polls, and opened again. The person may decide on it.
    private func poll(_ app: App, device: Int, _ seconds: Int) async throws {
        let standby = Task { try await app.service.poll(every: .seconds(5)) }
        var screen = Task { try await app.service.poll(every: .seconds(5)) }
        let end = self.simulator.now + Int64(seconds) * 1_000_000_000
        let (times, decides) = (1 + self.draw.below(4), self.draw.happens(0.7))
        for _ in 0..<times where self.simulator.now < end {
            try? await self.clock.sleep(for: .seconds(self.draw.below(max(1, seconds / times))))
            for _ in 0..<(decides ? 1 + self.draw.below(3) : 0) where self.simulator.now < end {
                await self.tap(app, device)
                try? await self.clock.sleep(for: .seconds(self.draw.below(12)))
            }
            await self.waitForPoll(of: app.process)
            self.simulator.note("closes a screen")
            screen.cancel()
            _ = await screen.result
            screen = Task { try await app.service.poll(every: .seconds(5)) }
        }
        for task in [standby, screen] { task.cancel() }
        for task in [standby, screen] { _ = await task.result }
    }

    /// Decides the oldest operation of a screen.
    private func tap(_ app: App, _ device: Int) async {
        guard let operation = app.operations.last else { return }
        self.judge.count("decisions on a screen")
        self.judge.takenInHand(operation.id)
        self.judge.trace.deciding.insert(app.process.index)
        defer { self.judge.trace.deciding.remove(app.process.index) }
        do {
            let factors: Activation.Authentication =
                operation.allows(.possession)
                ? .possession : .possessionAndKnowledge(unlocked: self.setting.devices[device].factor)
            self.simulator.note("approves \(self.judge.name(of: operation.id)) on a screen")
            try await app.service.authorize(operation, with: factors)
        } catch {
            self.simulator.note("cannot approve it: \(error)")
        }
    }

    /// Waits until an app polls.
    private func waitForPoll(of process: Simulator.Process) async {
        let before = self.judge.trace.appPolls[process.index]?.last
        for _ in 0..<1_000 where self.judge.trace.appPolls[process.index]?.last == before {
            try? await self.clock.sleep(for: .milliseconds(10))
        }
    }

    /// Reads changes slowly, so that some are merged.
    private func read(_ app: App) async {
        var shown = ShownList()
        for await change in app.service.changes() {
            if !shown.apply(change) { self.judge.fail("a list is not what its changes make of it") }
            app.operations = change.operations
            if self.draw.happens(0.5) { try? await self.clock.sleep(for: self.draw.duration(.zero ... .seconds(20))) }
        }
    }
}

/// A list as a reader of its changes has it.
struct ShownList {
    private(set) var ids: Set<String> = []

    /// - Returns: `false` if the change says that the list is another.
    mutating func apply(_ change: OperationList.Change) -> Bool {
        for removal in change.removed { self.ids.remove(removal.operation.id) }
        self.ids.formUnion(change.added.map(\.id))
        return self.ids == Set(change.operations.map(\.id))
    }
}
