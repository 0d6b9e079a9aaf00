import EmulatorBackend

/// Runs the virtual devices while the server runs.
struct DeviceOperator: Sendable {
    let core: EmulatorCore

    func run() async {
        await withDiscardingTaskGroup { group in
            while await self.core.devices.waitForWork() {
                for work in self.core.devices.takeWork(at: await self.core.now.milliseconds, self.core.deviceSite(of:))
                {
                    group.addTask { await self.perform(work) }
                }
            }
        }
    }

    private func perform(_ work: VirtualDeviceStore.Work) async {
        let id = work.job.deviceID
        switch work.job {
        case .look:
            do {
                await self.core.finishLook(work, found: try await work.session.look())
            } catch {
                guard !Task.isCancelled else { return }
                let now = await self.core.now.milliseconds
                self.core.devices.finish(work) { $0.failLook(id, error, at: now) }
            }
        case .decide(_, let task):
            let last = await self.core.journal.lastID
            var failure: DeviceFailure?
            do { try await work.session.decide(task) } catch {
                failure = await self.core.explained(error, of: task.operationID, by: id, since: last)
            }
            // A decision interrupted by the server's end has not failed: the next server starts it again.
            guard failure == nil || !Task.isCancelled else { return }
            // A later attempt does not find an operation that an earlier one decided.
            if case .refused = failure, await self.core.takenDecisions(of: id).contains(task.operationID) {
                failure = nil
            }
            let now = await self.core.now.milliseconds
            self.core.devices.finish(work) { $0.finish(task.operationID, of: id, failure, at: now) }
        }
        // A change that cannot be written is written with the next one.
        try? await self.core.commitDevice(id)
    }
}
