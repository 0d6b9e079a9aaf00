import EmulatorBackend
import EmulatorMessages
import ExactJSON
import HTTPClientTransport
import PowerAuth

// The network between a process and the bank.
extension World {
    func send(
        _ request: HTTPRequest,
        isAutomatic: Bool,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Bool
    ) {
        let (process, begun) = (self.simulator.currentProcess, self.simulator.now)
        self.lastFlight += 1
        let flight = Judge.Flight(
            request,
            id: self.lastFlight,
            process: process.index,
            isAutomatic: isAutomatic,
            at: begun
        )
        let timeout = request.timeout ?? Self.timeout
        self.judge.trace.noteMembers(Set(self.database.nodes.keys), at: begun)
        if let fault = self.judge.trace.called(flight, limit: self.requestsPerSecond) { self.judge.fail(fault) }
        var isEnded = false
        let wake = { (result: Swift.Result<HTTPResponse, any Error>) in
            guard !isEnded else { return }
            isEnded = true
            self.judge.trace.ended(flight, try? result.get().status, at: self.simulator.now)
            // A sender that has given up hears nothing.
            guard wake(result), case .success(let response) = result else { return }
            self.judge.heard(response, flight)
            self.told(flight, response)
        }
        if self.defect == .permitAfterCounter, flight.signature != nil {
            var later = request
            later.notAfter = nil
            _ = self.simulator.post(to: process, after: self.draw.duration(.zero ... .seconds(9))) {
                self.connect(later, flight, process, begun: self.simulator.now, timeout, wake)
            }
            return
        }
        self.connect(request, flight, process, begun: begun, timeout, wake)
    }

    func connect(
        _ request: HTTPRequest,
        _ flight: Judge.Flight,
        _ process: Simulator.Process,
        begun: Int64,
        _ timeout: Duration,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        _ = self.simulator.post(to: process, after: timeout) { wake(.failure(HTTPTransportError(.timeout))) }
        let isSlow = self.draw.happens(0.05) && self.simulator.now < self.calmSince
        let connecting = isSlow ? self.draw.duration(.zero ... .seconds(4)) : .milliseconds(1)
        guard !self.isCut(process), !self.asker.programs.contains(where: { $0.process == process && $0.isCut }) else {
            self.simulator.post(to: process, after: connecting) {
                wake(.failure(HTTPTransportError(.connectionFailed)))
            }
            return
        }
        self.simulator.post(to: process, after: connecting) {
            // The last moment before the first byte, in the process: a frozen one sends nothing.
            guard self.simulator.now - begun < timeout.nanoseconds else { return }
            let looks = self.defect != .sendsTooLate && self.defect != .noCheckAfterThaw
            if let end = request.notAfter, end <= .now, looks {
                return wake(.failure(HTTPTransportError(.tooLate)))
            }
            self.leave(
                request,
                flight,
                process,
                arrivesWithin: timeout - .nanoseconds(self.simulator.now - begun),
                wake
            )
        }
    }

    /// Notes that a process gets an answer.
    func told(_ flight: Judge.Flight, _ response: HTTPResponse) {
        self.judge.trace.told(flight, response, at: self.simulator.now)
        self.judge.heardOfQuestion(flight, response, at: self.simulator.now)
        if flight.looksAt != nil, (try? JSONValue(parsing: response.body))?["status"]?.string == "APPROVED" {
            self.reached(.approval, flight.process)
        }
        if let seconds = response.headers["Retry-After"] { self.tell("the bank asks to wait \(seconds) s", flight) }
        guard flight.isPoll, flight.isAutomatic, response.status == 200,
            let listed = (try? JSONValue(parsing: response.body))?["responseObject"]?.array
        else { return }
        for operation in listed {
            guard let id = operation["id"]?.string, let data = operation["data"]?.string else { continue }
            self.judge.trace.listed(
                data,
                Judge.Case(process: flight.process, operationID: id),
                at: self.simulator.now
            )
        }
    }

    func isCut(_ process: Simulator.Process) -> Bool {
        self.nodes.contains { $0.process == process && $0.isCut } || self.cutPeople.contains(process)
    }

    /// Sends the request, whatever happens to its sender.
    func leave(
        _ request: HTTPRequest,
        _ flight: Judge.Flight,
        _ process: Simulator.Process,
        arrivesWithin limit: Duration,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        var flight = flight
        if let activationID = flight.activationID {
            flight.commit = self.judge.lastCommit(of: process.index, activationID)
            self.checkRight(flight, activationID)
        }
        self.judge.left(flight)
        let chances = self.chances
        if flight.question != nil { self.reached(.creation, process.index) }
        if let decision = flight.decision {
            self.reached(.sending, process)
            self.amend(decision.operationID)
            let verb = decision.isApproval ? "approval" : "rejection"
            self.simulator.note("sends the \(verb) of \(self.judge.name(of: decision.operationID))")
        }
        if self.draw.happens(chances.requestLost) {
            self.judge.count("requests lost")
            self.tell("a request is lost", flight)
            self.judge.landed(flight.id)
            self.simulator.post(to: process, after: self.draw.duration(.milliseconds(5) ... .seconds(2))) {
                wake(.failure(HTTPTransportError(.connectionLost)))
            }
            return
        }
        let isOut = self.simulator.now < self.outageUntil
        if isOut || self.draw.happens(chances.proxyPage), self.draw.happens(0.5) {
            self.tell("a proxy answers", flight)
            self.judge.landed(flight.id)
            return self.answer(self.proxyPage(), to: process, wake)
        }
        var travel = self.draw.duration(.milliseconds(2) ... .milliseconds(80))
        var questions: Int?
        if self.draw.happens(chances.late) {
            self.judge.count("late requests")
            self.tell("a request is held back", flight)
            travel = self.draw.duration(.seconds(1) ... .seconds(10))
            flight.isLate = true
            if flight.decision != nil, self.draw.happens(0.5) { questions = 1 + self.draw.below(3) }
            if questions != nil || self.draw.happens(0.5) {
                self.simulator.post(to: process, after: .milliseconds(300)) {
                    wake(.failure(HTTPTransportError(.connectionLost)))
                }
            }
        }
        travel = min(travel, limit)
        if let end = flight.commit?.arrivesBy, flight.decision != nil {
            let left = Duration.nanoseconds(end - self.simulator.now)
            if limit > left { self.judge.fail("a decision may arrive later than its receipt says that it can") }
            // For as long as its right allows, and a little longer.
            if flight.isLate, let chance = chances.overdue, self.draw.happens(chance) {
                self.judge.count("decisions at the end of their right, or after it")
                travel = self.draw.happens(0.5) ? left : left + self.draw.duration(.zero ... .seconds(10))
                flight.isOverdue = travel > left
                self.simulator.post(to: self.simulator.world, after: left) { [id = flight.id] in self.judge.landed(id) }
            }
        }
        let isDoubled = self.draw.happens(chances.doubled)
        if self.defect == .answersBeforeServer, flight.decision != nil {
            wake(.success(HTTPResponse(status: 200, headers: [:], body: Array(#"{"status":"OK"}"#.utf8))))
        }
        let isCloud = request.url.hasPrefix(Self.cloudURL)
        let judged = { [flight] (isLate: Bool) in
            var flight = flight
            let date = self.date
            flight.isLate = flight.isLate || isLate
            var reply = self.arrive(request, flight, isCopy: false)
            if isDoubled {
                self.judge.count("doubled requests")
                self.tell("a request arrives twice", flight)
                let second = self.arrive(request, flight, isCopy: true)
                if self.draw.happens(0.5) { reply = second }
            }
            if flight.decision != nil { self.reached(.answer, process) }
            if request.url.hasSuffix(Self.statusPath) { self.reached(.question, process) }
            if self.draw.happens(chances.responseLost) {
                self.judge.count("responses lost")
                self.tell("a response is lost", flight)
                self.simulator.post(to: process, after: self.draw.duration(.milliseconds(5) ... .seconds(2))) {
                    let isDenied = self.defect == .lostIsNeverSent
                    wake(.failure(HTTPTransportError(isDenied ? .connectionFailed : .connectionLost)))
                }
            } else if isOut || self.draw.happens(chances.proxyPage), self.draw.happens(0.5) {
                self.tell("a proxy puts a page in the place of the response", flight)
                self.answer(self.proxyPage(), to: process, wake)
            } else {
                var response = HTTPResponse(reply)
                if isCloud { response.headers.add(name: "Date", value: HTTPDate.string(from: date)) }
                self.answer(response, to: process, wake)
            }
        }
        let arrive = { [flight] in
            self.judge.arrived(flight, at: self.simulator.now)
            guard flight.signature != nil, let chance = chances.judgedLate, self.draw.happens(chance) else {
                return judged(false)
            }
            // As behind a lock in the bank's database, which others may get before it. The client may be gone by then.
            self.judge.count("requests judged late")
            self.tell("the bank judges a request later", flight)
            // With a failed attempt that its sender has not heard of, it would seem to be one more.
            if self.draw.happens(0.3), !self.judge.refusedActivations.contains(flight.activationID ?? "") {
                self.judge.refusedInFront(flight, at: self.simulator.now)
                self.answer(self.outage(), to: process, wake)
            }
            self.simulator.post(to: self.simulator.world, after: self.draw.duration(.seconds(1) ... .seconds(40))) {
                judged(true)
            }
        }
        guard let questions, let activationID = flight.activationID else {
            self.simulator.post(to: self.simulator.world, after: travel, arrive)
            return
        }
        self.heldBack[flight.id] = HeldBack(activationID: activationID, questions: questions, arrive: arrive)
        self.simulator.post(to: self.simulator.world, after: travel) { [id = flight.id] in
            self.heldBack.removeValue(forKey: id)?.arrive()
        }
    }

    /// Delivers held-back decisions right after the response to a request about their outcome.
    func deliverHeldBack(after request: HTTPRequest, _ reply: Reply) {
        guard request.url.hasSuffix(Self.statusPath) || request.url.hasSuffix("/operation/detail") else { return }
        for (id, held) in self.heldBack.sorted(by: { $0.key < $1.key }) where held.activationID == reply.activationID {
            self.heldBack[id]?.questions -= 1
            guard held.questions == 1, let due = self.heldBack.removeValue(forKey: id) else { continue }
            self.simulator.post(to: self.simulator.world, after: .zero, due.arrive)
        }
    }

    func tell(_ what: String, _ flight: Judge.Flight) {
        let subject = flight.decision.map { "of \(self.judge.name(of: $0.operationID))" } ?? flight.path
        self.simulator.note("\(what) (\(subject))")
    }

    func arrive(_ request: HTTPRequest, _ flight: Judge.Flight, isCopy: Bool) -> Reply {
        let isCloud = request.url.hasPrefix(Self.cloudURL)
        let reply =
            isCloud
            ? self.backend.reply(to: ReceivedRequest(request), from: .process, at: self.date)
            : self.backend.reply(to: ReceivedRequest(request), at: self.date)
        if isCloud { self.noteQuestion(request, reply) }
        if request.url.hasSuffix(Self.statusPath), reply.status == 200, let id = reply.activationID {
            self.judge.trace.statuses[id] = self.simulator.now
        }
        if flight.isPoll, let fault = self.judge.trace.arrived(flight, of: reply.activationID) {
            self.judge.fail(fault)
        }
        if flight.isPoll, !isCopy {
            self.judge.count("polls")
            if self.judge.trace.polled(flight, reply) { self.judge.count("polls soon after another") }
        }
        self.judge.answered(flight, reply, isCopy: isCopy, at: self.simulator.now)
        if let id = reply.activationID, flight.signature != nil { self.checkBlocked(id) }
        self.note(reply.events)
        self.deliverHeldBack(after: request, reply)
        if case .refused(let reason) = reply.verdict { self.tell("the bank refuses: \(reason)", flight) }
        return reply
    }

    /// Notes an operation created for the requester.
    func noteQuestion(_ request: HTTPRequest, _ reply: Reply) {
        guard request.method == .post, request.url == Setting.baseURL + "/v2/operations", reply.status == 200,
            let json = try? JSONValue(parsing: reply.body), let id = json["operationId"]?.string,
            let device = self.setting.devices.firstIndex(where: { $0.user == json["userId"]?.string })
        else { return }
        let kind = device == self.plan.objector ? Plan.Kind.refusedQuestion : .question
        let name = self.judge.made(id, kind, device: device, at: self.simulator.now)
        self.simulator.note("the bank made \(name)")
    }

    /// Checks that no signature is sent under a lost or foreign right.
    func checkRight(_ flight: Judge.Flight, _ id: String) {
        guard let commit = flight.commit, let fence = commit.fence, self.simulator.now >= self.leasesTellFrom,
            [self.database.epoch.server, self.heartbeatServer].contains(where: {
                !self.database.server.isOther(than: $0)
            })
        else { return }
        let now = self.databaseNow
        if let holder = self.database.rows[id]?.holder, holder != fence, let other = self.database.nodes[holder],
            other.expires > now
        {
            self.judge.fail("a signature of \(self.deviceNames[id] ?? "") leaves, and \(other.name) may sign by now")
        }
        // An epoch ends leases early.
        guard commit.epoch == self.database.epoch else { return }
        if self.database.nodes[fence].map({ $0.expires <= now }) ?? true {
            self.judge.fail("a signature of \(self.deviceNames[id] ?? "") leaves, and its node's lease is over")
        }
    }

    var databaseNow: Int64 { self.simulator.now + 100_000_000_000_000 + self.databaseSkew }

    func answer(
        _ response: HTTPResponse,
        to process: Simulator.Process,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        self.simulator.post(to: process, after: self.draw.duration(.milliseconds(2) ... .milliseconds(80))) {
            wake(.success(response))
        }
    }

    /// A refusal in the bank's words, as if a failure behind it were one of the signature.
    func outage() -> HTTPResponse {
        self.judge.count("outages behind the bank")
        let body =
            #"{"status":"ERROR","responseObject":{"code":"POWERAUTH_AUTH_FAIL","message":"Signature validation failed"}}"#
        return HTTPResponse(status: 401, headers: ["Content-Type": "application/json"], body: Array(body.utf8))
    }

    func proxyPage() -> HTTPResponse {
        self.judge.count("pages of proxies")
        let status = self.draw.element(of: [502, 503, 503, 503, 401, 403, 200, 500]) ?? 502
        var headers: HTTPHeaders = ["Content-Type": "text/html"]
        if status == 503 {
            headers.add(name: "Retry-After", value: self.draw.element(of: ["3", "20", "40"]) ?? "3")
        }
        return HTTPResponse(
            status: status,
            headers: headers,
            body: Array("<html><body>Out of order</body></html>".utf8)
        )
    }
}

/// A process's view of the network.
struct SimulatedTransport: HTTPTransport {
    let world: World
    let isAutomatic: Bool

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            return try await self.deliver(request)
        } catch let error as HTTPTransportError
            where error.code == .connectionLost && self.world.defect == .repeatsSigned
        {
            return try await self.deliver(request)
        }
    }

    private func deliver(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self.world.simulator.suspend { _, wake in
            self.world.send(request, isAutomatic: self.isAutomatic, wake)
            return nil
        }
    }
}

/// Notes when polls begin.
struct PollObserver: MobileTokenObserver {
    let world: World

    func pollStarted(_ poll: MobileTokenObservation.Poll) {
        let process = self.world.simulator.currentProcess.index
        self.world.judge.trace.began(process, poll.activationID, at: self.world.simulator.now)
    }
}
