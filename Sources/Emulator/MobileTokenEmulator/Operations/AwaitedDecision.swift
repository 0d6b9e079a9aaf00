import EmulatorBackend
import MobileTokenCloud

extension EmulatorCore {
    /// Returns the device that a pending operation waits for, or the reason why no device decides it.
    func awaited(_ operation: ServerOperation) -> String {
        guard let user = operation.userID else { return "nobody has claimed it" }
        let registrations = self.snapshot.backend.state.activations.newestFirst.filter(operation.isVisible)
        let active = Set(registrations.lazy.filter { $0.status == .active }.map(\.id))
        guard !active.isEmpty else {
            guard let last = registrations.first(where: { $0.status != .removed }) else {
                return "\(user) has no registration that may decide it"
            }
            return "the registration of \(user) is \(last.status.rawValue)"
        }
        let devices = self.devices.roster.newestFirst.filter { active.contains($0.id) }
        let tasks = devices.compactMap { device in
            device.tasks.last { $0.operationID == operation.id }.map { (device, $0) }
        }
        if let (device, task) = tasks.first(where: { $0.1.isOpen }) {
            let seconds = max(0, Double(task.due - self.now.milliseconds) / 1000)
            return "\(device.name) decides in \(seconds) s of the server's clock: \(task.decision)"
        }
        if let (device, failure) = tasks.lazy.compactMap({ task in task.1.failure.map { (task.0, $0) } }).first {
            return "\(device.name) has tried: \(failure)"
        }
        if let failed = devices.first(where: { $0.failure != nil }) {
            return "\(failed.name) cannot look for operations: \(failed.failure ?? "")"
        }
        guard let device = devices.first else { return "a client of \(user) has not decided it" }
        return "no rule decides it; \(device.name) decides by hand"
    }
}
