import EmulatorBackend

/// Does what the virtual devices have to do, for as long as the server runs.
struct DeviceOperator: Sendable {
    let core: EmulatorCore

    /// Operates the devices until the task is canceled.
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

    private func perform(_ work: DeviceRoom.Work) async {
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
            var failure: DeviceFailure?
            do { try await work.session.decide(task) } catch { failure = error }
            // A decision that the end of the server interrupts has not failed: the next server begins it anew.
            guard failure == nil || !Task.isCancelled else { return }
            // An operation that an earlier attempt decided is not found by a later one.
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
