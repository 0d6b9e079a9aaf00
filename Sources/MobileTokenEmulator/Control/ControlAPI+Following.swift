import Coordination
import EmulatorBackend
import EmulatorMessages

// What programs follow: they ask for what is new, and wait for it.

extension ControlAPI {
    /// Looks, and looks again whenever something of a kind has happened, until there is news or the request's `wait` is over.
    ///
    /// - Throws: When too many wait already.
    func waiting<Page: Sendable>(
        _ request: ReceivedRequest,
        for kind: Emulator.Event.Kind,
        _ look: @escaping @Sendable () async -> (page: Page, isNews: Bool)
    ) async throws -> Page {
        let seconds = try request.number("wait", in: 0...60) ?? 0
        guard seconds > 0 else { return await look().page }
        // Subscribed before looking, so that nothing happens in between.
        guard let events = self.core.events.subscribe(unlessThereAre: self.capacity.eventStreams) else {
            throw Refusal(503, "CAPACITY_EXCEEDED", "\(self.capacity.eventStreams) programs follow already")
        }
        let first = await look()
        if first.isNews { return first.page }
        let clock = self.core.clock
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while let event = await events.next() {
                    guard event.kind == kind || event.kind == .reset else { continue }
                    if await look().isNews || event.kind == .reset { return }
                }
            }
            group.addTask { try? await clock.sleep(for: .seconds(seconds)) }
            await group.next()
            group.cancelAll()
            return await look().page
        }
    }

    private struct DeliveryFeed: Encodable {
        var items: [Emulator.DeliverySummary]
        var last: UInt64
        var run: String
    }

    /// The deliveries since one, oldest first.
    func deliveryFeed(_ request: ReceivedRequest) async throws -> ServerResponse {
        let limit = try request.number("limit", in: 1...1000) ?? 100
        let mailroom = self.core.mailroom
        let position = try request.feedPosition(inRun: mailroom.runID)
        let page = try await self.waiting(request, for: .delivery) {
            let outbox = mailroom.outbox
            let found = outbox.deliveries(since: position.number, limit: limit)
            return (page: (found, outbox.lastID), isNews: !found.isEmpty || position.isUnknown(after: outbox.lastID))
        }
        let items = page.0.map(Emulator.DeliverySummary.init)
        return .encoding(DeliveryFeed(items: items, last: page.1, run: mailroom.runID))
    }

    /// What a listener reports.
    struct CollectedDelivery: Decodable {
        private enum CodingKeys: String, CodingKey, CaseIterable { case status, failure }

        var status: Int?
        var failure: String?

        init(from decoder: any Decoder) throws {
            try decoder.refuseMembers(except: CodingKeys.self)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.status = try container.decodeIfPresent(Int.self, forKey: .status)
            self.failure = try container.decodeIfPresent(String.self, forKey: .failure)
        }
    }

    /// Notes what became of a delivery that a listener has made.
    func noteCollection(of id: String, _ report: CollectedDelivery) async throws -> ServerResponse {
        let outcome: Outbox.Outcome
        switch (report.status, report.failure) {
        case (let status?, nil): outcome = .response(status: status)
        case (nil, let failure?): outcome = .noResponse(reason: String(failure.unicodeScalars.prefix(200)))
        default: throw Refusal.invalidRequest("Either 'status' or 'failure' is needed")
        }
        let number = try self.delivery(id).id
        guard let delivery = self.core.mailroom.change({ $0.takeCollected(number) }) else {
            throw Refusal(409, "INVALID_STATE", "The delivery does not wait for a listener")
        }
        await self.core.noteAttempt(
            delivery,
            delivery.message.request(authorization: delivery.message.authorization),
            outcome.reply(),
            fault: nil,
            outcome: outcome
        )
        return .encoding(try self.delivery(id))
    }
}

extension ReceivedRequest {
    /// Returns what the one who asks has been told: the query's `since`, unless it is of another run of the server, whose
    /// numbers mean nothing here.
    func feedPosition(inRun run: String) throws(Refusal) -> FeedPosition {
        let since = try self.number("since", in: 0...Int.max) ?? 0
        let isOfThisRun = self.queryValue("run").map { $0 == run } ?? true
        return FeedPosition(number: isOfThisRun ? UInt64(since) : 0, isOfThisRun: isOfThisRun)
    }
}

/// A position in a feed that a program follows: how far it has been told.
struct FeedPosition {
    /// What is new comes after it.
    let number: UInt64
    let isOfThisRun: Bool

    /// Whether the program speaks of what this server has never told, which it learns at once: it may have arrangements of the
    /// lost run to make anew.
    func isUnknown(after last: UInt64) -> Bool { !self.isOfThisRun || last < self.number }
}
