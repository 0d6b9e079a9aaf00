import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud

// The bank, with its own backend.
extension World {
    func cloud(_ method: String, _ path: String, _ body: JSONValue? = nil) -> Reply {
        var request = ReceivedRequest(method: method, path: path, headers: [("Content-Type", "application/json")])
        request.body = body?.serialized() ?? []
        let reply = self.backend.reply(to: request, from: .process, at: self.date)
        self.note(reply.events)
        return reply
    }

    func make(_ kind: Plan.Kind, _ device: Int) {
        var body: JSONObject = [
            "template": .string(kind.template), "userId": .string(self.setting.devices[device].user),
        ]
        if let amount = kind.amount { body["parameters"] = ["amount": .string(amount)] }
        let reply = self.cloud("POST", "/v2/operations", .object(body))
        guard let id = (try? JSONValue(parsing: reply.body))?["operationId"]?.string else {
            return self.judge.fail("the bank made no operation: \(reply.verdict)")
        }
        let name = self.judge.made(id, kind, device: device, at: self.simulator.now)
        self.simulator.note("the bank made \(name)")
    }

    /// Returns the bank's own view of an operation.
    func book(of id: String) -> Judge.Book? {
        guard let operation = self.backend.state.operations[id] else { return nil }
        // The time that its server tells in seconds is known to a second.
        let now = Int64(self.date.timeIntervalSince1970 * 1_000) + 1_000
        let isLate = operation.expires <= now
        let status = operation.status == .pending && isLate ? .expired : operation.status
        return Judge.Book(status: status, isLate: isLate, data: operation.data)
    }

    /// Changes the amount of a payment that waits, so that a policy says something else of it.
    func change() {
        let pending = self.judge.operations.filter { $0.value.isPending && $0.value.kind.amount != nil }.keys.sorted()
        // One whose decision has an unknown fate, if there is one.
        let sent = pending.filter { self.judge.sentOperations.contains($0) }
        guard let id = self.draw.element(of: sent.isEmpty ? pending : sent), let kind = self.judge.operations[id]?.kind
        else { return }
        self.change(id, from: kind, to: kind.other)
    }

    /// Changes a payment whose decision leaves, before it arrives.
    func amend(_ id: String) {
        guard self.amendments > 0, let kind = self.judge.operations[id]?.kind, kind.amount != nil else { return }
        self.amendments -= 1
        self.simulator.post(to: self.simulator.world, after: .milliseconds(1)) {
            guard self.judge.operations[id]?.isPending == true, self.judge.operations[id]?.kind == kind else { return }
            self.change(id, from: kind, to: kind.similar)
        }
    }

    private func change(_ id: String, from kind: Plan.Kind, to other: Plan.Kind) {
        guard let operation = self.backend.state.operations[id], let before = kind.amount, let after = other.amount,
            let text = try? String(decoding: JSONEncoder().encode(operation), as: UTF8.self),
            let changed = try? JSONDecoder().decode(
                ServerOperation.self,
                from: Data(text.replacing(before, with: after).utf8)
            )
        else { return }
        self.backend.state.operations.update(id) { $0 = changed }
        self.judge.changed(id, to: other, changed.data, at: self.simulator.now)
        self.simulator.note("\(self.judge.name(of: id)) is of \(after) now")
    }

    func cancel() {
        let pending = self.judge.operations.filter(\.value.isPending).keys.sorted()
        guard let id = self.draw.element(of: pending) else { return }
        _ = self.cloud("DELETE", "/v2/operations/\(id)")
    }

    func block(_ index: Int, _ seconds: Int) {
        let id = self.setting.devices[index].activationID
        self.blockedNow.insert(id)
        self.judge.blocked(id, until: self.simulator.now + Int64(seconds) * 1_000_000_000)
        _ = try? self.backend.administer(.block(activationID: id), at: self.date)
        self.after(seconds) { self.unblock(id) }
    }

    /// Checks that only the bank blocks an activation.
    func checkBlocked(_ id: String) {
        guard self.backend.state.activations[id]?.status == .blocked, !self.blockedNow.contains(id),
            self.judge.wrongFactor != id
        else { return }
        self.judge.fail("\(self.deviceNames[id] ?? "") is blocked, and not by the bank")
    }

    func unblock(_ id: String) {
        self.blockedNow.remove(id)
        guard self.backend.state.activations[id]?.status == .blocked else { return }
        _ = try? self.backend.administer(.unblock(activationID: id), at: self.date)
        self.judge.failuresWereCleared(of: id)
    }

    func note(_ events: [BackendEvent]) {
        for event in events where event.subject == .operation && event.status != "PENDING" {
            self.judge.ended(event.id, as: event.status ?? "", at: self.simulator.now)
            self.simulator.note("\(self.judge.name(of: event.id)) is \(event.status ?? "")")
        }
    }
}
