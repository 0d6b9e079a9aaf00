import EmulatorBackend

/// Does what the virtual devices have to do, for as long as the server runs.
struct DeviceOperator: Sendable {
    let core: EmulatorCore

    /// Operates the devices until the task is canceled.
    func run() async {
        await withDiscardingTaskGroup { group in
            while await self.core.devices.waitForWork() {
                for work in self.core.devices.takeWork(at: await self.core.now.milliseconds) {
                    group.addTask { await self.perform(work) }
                }
            }
        }
    }

    private func perform(_ work: DeviceRoom.Work) async {
        var work = work
        let id = work.job.deviceID
        let wire = DeviceWire(core: self.core, name: self.core.devices.roster[id]?.name ?? id, epoch: work.epoch)
        switch work.job {
        case .look:
            do {
                let operations = try await work.session.operations(wire)
                let now = await wire.now
                self.core.devices.finish(work) { $0.finishLook(id, found: operations.map(\.id), at: now) }
            } catch {
                let now = await wire.now
                self.core.devices.finish(work) { $0.failLook(id, error, at: now) }
            }
            await self.core.reportDevice(id)
        case .decide(_, let task):
            var failure: DeviceFailure?
            do { try await work.session.decide(task, wire) } catch { failure = error }
            let now = await wire.now
            self.core.devices.finish(work) { $0.finish(task.operationID, of: id, failure, at: now) }
            await self.core.reportDevice(id)
        }
    }
}
