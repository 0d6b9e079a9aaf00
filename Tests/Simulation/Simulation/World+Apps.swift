import Basics
import EmulatorBackend
import Foundation
import MobileToken
import PowerAuth

// People's apps, which show a list.
extension World {
    /// A person looks at a device's list: on one screen that is told what expires, or on two that poll side by side.
    func look(_ index: Int, _ seconds: Int) {
        let isWatching = self.draw.happens(0.6)
        let changes = isWatching ? 3 + self.draw.below(12) : self.draw.below(seconds)
        let losesNetwork = self.draw.happens(0.5)
        self.judge.count("lists looked at")
        if isWatching { self.make(.brief, index) }
        self.asPerson(index, isLooking: isWatching ? .watching(device: index) : .polling) { client, activation in
            let process = self.simulator.currentProcess
            let service = client.makeOperationsService(for: activation)
            let reading = Task { await self.read(service.changes()) }
            let watching = Task {
                let watcher = ExpirationWatcher(activation: activation, clock: self.clock)
                if isWatching { await watcher.watch(service) }
            }
            let first = Task { try await service.poll(every: .seconds(isWatching ? 120 : 5)) }
            let second = Task { if !isWatching { try await service.poll(every: .seconds(5)) } }
            try? await self.clock.sleep(for: .seconds(changes))
            if !isWatching {
                await self.waitForPoll(of: process)
                self.simulator.note("closes a screen")
                first.cancel()
            } else if losesNetwork {
                self.simulator.note("loses the network")
                self.cutPeople.append(process)
            } else {
                self.outageUntil = max(self.outageUntil, self.simulator.now + 40_000_000_000)
            }
            try? await self.clock.sleep(for: .seconds(seconds - changes))
            for task in [first, second] { task.cancel() }
            watching.cancel()
            reading.cancel()
            await watching.value
            await reading.value
            for task in [first, second] { _ = await task.result }
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
    private func read(_ changes: AsyncStream<OperationList.Change>) async {
        var shown = ShownList()
        for await change in changes {
            if !shown.apply(change) { self.judge.fail("a list is not what its changes make of it") }
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
