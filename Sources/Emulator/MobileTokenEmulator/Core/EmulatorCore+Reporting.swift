import Basics
import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON

// The notifications of the core: to event readers, the bank and the devices.
extension EmulatorCore {
    func tell(of entry: Emulator.JournalEntry) {
        self.send(.request, id: String(entry.id), status: String(entry.status))
    }

    // MARK: Callbacks

    func fault(forCallbackTo url: String) -> FaultInjector.Strike? {
        self.faults.fault(method: "POST", path: url, activationID: nil, using: &self.faultRandomness)
    }

    /// Records the outcome of a delivery attempt, unless the state was replaced meanwhile.
    func noteAttempt(
        _ delivery: Outbox.Delivery,
        _ request: ReceivedRequest,
        _ reply: Reply,
        fault: String?,
        outcome: Outbox.Outcome
    ) {
        guard self.callbackQueue.outbox.awaits(delivery) else { return }
        self.note(request, reply, delivery, fault: fault)
        let now = self.now.milliseconds
        if let delivery = self.callbackQueue.change({ $0.finish(delivery.id, outcome, at: now) }) {
            self.tell(of: delivery)
        }
    }

    /// Lets a callback arrive later, and what follows it before.
    func postpone(_ delivery: Outbox.Delivery, by rule: String, seconds: Double) {
        guard self.callbackQueue.outbox.awaits(delivery) else { return }
        let now = self.now.milliseconds
        let due = now + Milliseconds(Duration(boundedSeconds: seconds) / .milliseconds(1))
        self.callbackQueue.change { $0.postpone(delivery.id, by: rule, until: due, at: now) }
        self.send(.faults)
    }

    /// Notes a request on the way to a delivery that is not its last: for an access token, or with one that was refused.
    func noteRequest(_ request: ReceivedRequest, _ reply: Reply, _ deliveryID: UInt64) {
        guard let delivery = self.callbackQueue.outbox[deliveryID] else { return }
        self.note(request, reply, delivery, fault: nil)
    }

    /// Adds a request to the journal, with the delivery's subject.
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
                delivery: delivery,
                userID: self.backend.userID(of: reply),
                at: self.now
            )
        )
    }

    /// Sends a completed delivery again.
    func replayDelivery(_ id: UInt64) throws(EmulatorError) {
        guard let delivery = self.callbackQueue.change({ $0.replay(id, at: self.now.milliseconds) }) else {
            throw EmulatorError(.noSuch("delivery that has ended"))
        }
        self.tell(of: delivery)
    }

    /// Sends again what has failed of a callback.
    ///
    /// - Returns: The number of deliveries.
    func resendFailed(ofCallback id: String) throws(Refusal) -> Int {
        _ = try self.backend.testMessage(ofCallback: id)
        let now = self.now.milliseconds
        let resent = self.callbackQueue.change { $0.replayFailed(ofCallback: id, at: now) }
        for delivery in resent { self.tell(of: delivery) }
        return resent.count
    }

    func testCallback(_ id: String) throws(Refusal) -> Emulator.DeliverySummary {
        let delivery = self.deliver(try self.backend.testMessage(ofCallback: id))
        return Emulator.DeliverySummary(delivery)
    }

    private func tell(of delivery: Outbox.Delivery) {
        self.send(.delivery, id: String(delivery.id), status: delivery.state.rawValue)
    }

    func reportDevice(_ id: String) { self.send(.virtualDevice, id: id) }

    // MARK: Events

    func tell(_ announcements: [Announcement]) {
        for announcement in announcements {
            let event = announcement.event
            if event.isChange { self.send(.init(event.subject), id: event.id, status: event.status) }
            // Activations report every change; the bank and the devices are notified only of status changes.
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

    /// Stores push messages, and delivers them to the configured address.
    func send(_ messages: [PushMessage]) {
        for message in messages {
            let push = Emulator.PushSummary(message, id: self.pushes.nextID, at: self.now)
            self.pushes.append(push, size: push.payload.utf8.count)
            self.send(.push, id: String(push.id), status: push.type)
            if let url = self.configuration.pushURL { self.deliver(message.delivery(to: url)) }
        }
    }

    @discardableResult
    private func deliver(_ message: CallbackMessage) -> Outbox.Delivery {
        let now = self.now.milliseconds
        let delivery = self.callbackQueue.change { $0.add(message, at: now) }
        self.tell(of: delivery)
        return delivery
    }

    func send(_ kind: Emulator.Event.Kind, id: String? = nil, status: String? = nil) {
        self.eventCount += 1
        self.events.send(
            Emulator.Event(number: self.eventCount, kind: kind, id: id, status: status, time: self.now)
        )
    }
}
