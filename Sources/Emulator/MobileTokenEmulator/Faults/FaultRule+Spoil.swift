import Basics
import EmulatorBackend
import EmulatorMessages

extension FaultRule.Effect {
    /// Indicates whether the client gets a response before the server acts.
    var standsIn: Bool {
        self.status != nil || self.late != nil || self.reset == .before || self.page?.when == .before
    }

    /// The reply that is sent before the server acts.
    var replyInstead: Reply? {
        guard self.standsIn else { return nil }
        var reply = Reply.error(self.status ?? 503, code: self.code, message: "A fault was asked for", because: "fault")
        let gatewayTimeout =
            self.late != nil && self.status == nil && self.reset == nil ? Page(.before, status: 504) : nil
        if let page = self.page ?? gatewayTimeout { reply.response = page.response }
        return reply
    }

    /// Reduces the effect to its parts that apply when a postponed request is executed.
    mutating func carryOutNow() {
        if self.late != nil { (self.status, self.code, self.reset, self.page) = (nil, nil, nil, nil) }
        (self.late, self.hold) = (nil, nil)
    }

    /// Removes the header field that the request loses on its way.
    func strip(from request: inout ReceivedRequest) {
        guard let name = self.strip else { return }
        request.headers.removeAll { $0.name.equalsIgnoringASCIICase(name) }
    }

    /// Returns the response under the fault; dripping waits on `clock`.
    func spoil(_ answer: ServerResponse, _ clock: any Clock<Duration>) -> ServerResponse {
        var response = self.page.map { $0.when == .after ? $0.response : answer } ?? answer
        let bytes = response.bytes
        guard self.reset == nil else {
            response.body = .reset
            return response
        }
        if let retryAfter = self.retryAfter { response.headers.append(("Retry-After", String(retryAfter))) }
        if let contentType = self.contentType {
            response.headers.removeAll { $0.name.equalsIgnoringASCIICase("Content-Type") }
            response.headers.append(("Content-Type", contentType))
        }
        let body = self.body == .garbage ? Array(#"{"status":"OK","responseObject":[{"#.utf8) : bytes
        switch (self.body == .truncated, self.drip) {
        case (false, nil):
            response.body = .bytes(body)
        case (true, nil):
            response.body = .produced(length: body.count) { stream in
                stream.write(body.prefix(body.count / 2))
                stream.abort()
            }
        case (let isTruncated, let rate?):
            response.body = .produced(length: body.count) { stream in
                await stream.drip(isTruncated ? body.prefix(body.count / 2) : body[...], bytesPerSecond: rate, clock)
                if isTruncated { stream.abort() }
            }
        }
        return response
    }

    /// The number of bytes per write, and the pause between writes. The slowest rate is one byte per second.
    static func dripping(bytesPerSecond rate: Int) -> (portion: Int, pause: Duration) {
        let rate = max(1, rate)
        let portion = max(1, rate / 10)
        return (portion, .seconds(Double(portion) / Double(rate)))
    }
}

extension FaultInjector.Strike {
    /// Returns a description of the fault's effect, for the journal.
    func account(of visit: EmulatorCore.Visit, isRepetition: Bool) -> String {
        let effect = self.effect
        var parts: [String] = []
        if self.delay > 0 { parts.append("delayed for \(self.delay) s") }
        if let name = effect.strip { parts.append("lost \(name)") }
        if let wait = visit.wait { parts.append("waited \(wait) s") }
        switch (effect.standsIn, effect.late, effect.repeat) {
        case (true, nil, _): parts.append("not carried out")
        case (true, _?, _): parts.append("to be carried out later")
        case (false, _, nil): parts.append("carried out")
        case (false, _, let answer?):
            parts.append("carried out for the \(isRepetition ? "second" : "first") of two times")
            parts.append((answer == .second) == isRepetition ? "this answer was sent" : "this answer was not sent")
        }
        if effect.reset != nil { parts.append("the connection was reset") }
        if let page = effect.page { parts.append("answered by a page with \(page.status)") }
        return parts.joined(separator: ", ")
    }
}

extension BodyWriter {
    /// Writes ten portions per second, or byte by byte if that is slower.
    fileprivate func drip(
        _ bytes: ArraySlice<UInt8>,
        bytesPerSecond rate: Int,
        _ clock: any Clock<Duration>
    ) async {
        let (portion, pause) = FaultRule.Effect.dripping(bytesPerSecond: rate)
        var rest = bytes
        while !rest.isEmpty, !self.isClosed {
            self.write(rest.prefix(portion))
            rest = rest.dropFirst(portion)
            do { try await clock.sleep(for: pause) } catch { return self.abort() }
        }
    }
}
