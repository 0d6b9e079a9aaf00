import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation

// The announcements of the core: to the readers of its events, the bank, the devices.
extension EmulatorCore {
    func tell(of entry: Emulator.JournalEntry) {
        self.send(.request, id: String(entry.id), status: String(entry.status))
    }

    // MARK: Callbacks

    /// Returns the fault that strikes a callback.
    func fault(forCallbackTo url: String) -> FaultInjector.Strike? {
        self.faults.fault(method: "POST", path: url, activationID: nil, using: &self.faultRandomness)
    }

    /// Notes what became of an attempt to deliver a callback, unless the state was replaced meanwhile.
    func noteAttempt(
        _ delivery: Outbox.Delivery,
        _ request: ReceivedRequest,
        _ reply: Reply,
        fault: String?,
        outcome: Outbox.Outcome
    ) {
        guard self.mailroom.outbox.awaits(delivery) else { return }
        self.note(request, reply, delivery, fault: fault)
        let now = self.now.milliseconds
        if let delivery = self.mailroom.change({ $0.finish(delivery.id, outcome, at: now) }) { self.tell(of: delivery) }
    }

    /// Notes a request on the way to a delivery that is not its last: for an access token, or with one that was refused.
    func noteRequest(_ request: ReceivedRequest, _ reply: Reply, _ deliveryID: UInt64) {
        guard let delivery = self.mailroom.outbox[deliveryID] else { return }
        self.note(request, reply, delivery, fault: nil)
    }

    /// Adds a request to the journal, under what the delivery tells of.
    private func note(_ request: ReceivedRequest, _ reply: Reply, _ delivery: Outbox.Delivery, fault: String?) {
        var reply = reply
        let told = try? JSONValue(parsing: delivery.message.body)
        told?["operationId"]?.string.map { reply.inspection.mention($0) }
        reply.response.activationID = told?["activationId"]?.string
        self.tell(
            of: self.journal.append(
                request,
                reply: reply,
                fault: fault,
                deliveryID: delivery.id,
                userID: self.backend.userID(of: reply),
                at: self.now
            )
        )
    }

    /// Sends a delivery once more that has ended.
    func replayDelivery(_ id: UInt64) throws(EmulatorError) {
        guard let delivery = self.mailroom.change({ $0.replay(id, at: self.now.milliseconds) }) else {
            throw EmulatorError(.noSuch("delivery that has ended"))
        }
        self.tell(of: delivery)
    }

    private func tell(of delivery: Outbox.Delivery) {
        self.send(.delivery, id: String(delivery.id), status: delivery.state.rawValue)
    }

    func reportDevice(_ id: String) { self.send(.virtualDevice, id: id) }

    // MARK: Events

    func tell(_ announcements: [Announcement]) {
        for announcement in announcements {
            let event = announcement.event
            self.send(.init(event.subject), id: event.id, status: event.status)
            // Activations report whatever changes in them; the bank and the devices are told of their status.
            if event.subject == .activation,
                self.toldStatuses.updateValue(event.status ?? "", forKey: event.id) == event.status
            {
                continue
            }
            self.wakeDevices(by: event)
            for message in announcement.callbacks { self.deliver(message) }
            self.send(announcement.pushes)
        }
    }

    /// Keeps what a push server would send, and delivers it to the address that takes its place.
    func send(_ messages: [PushMessage]) {
        for message in messages {
            let push = Emulator.PushSummary(message, id: self.pushes.nextID, at: self.now)
            self.pushes.append(push, size: push.payload.utf8.count)
            self.send(.push, id: String(push.id), status: push.type)
            if let url = self.configuration.pushURL { self.deliver(message.delivery(to: url)) }
        }
    }

    private func deliver(_ message: CallbackMessage) {
        let now = self.now.milliseconds
        self.tell(of: self.mailroom.change { $0.add(message, at: now) })
    }

    func send(_ kind: Emulator.Event.Kind, id: String? = nil, status: String? = nil) {
        self.eventCount += 1
        self.events.send(
            Emulator.Event(number: self.eventCount, kind: kind, id: id, status: status, time: self.now)
        )
    }
}
