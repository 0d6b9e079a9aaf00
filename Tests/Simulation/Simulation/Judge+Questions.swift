import ExactJSON
import HTTPClientTransport

// The requester's questions.
extension Judge {
    /// An operation by which a person was asked, whose creation was answered.
    struct Asked {
        let operationID: String
        let process: Int
        let heard: Int64
    }

    /// The time in which a program must cancel an operation too many.
    private static let cancelation: Int64 = 20_000_000_000

    /// Notes what a program hears of its operations.
    mutating func heardOfQuestion(_ flight: Flight, _ response: HTTPResponse, at now: Int64) {
        guard flight.question != nil || flight.looksAt != nil, response.status == 200,
            let answer = try? JSONValue(parsing: response.body), let id = answer["operationId"]?.string
        else { return }
        if answer["status"]?.string == "REJECTED" { self.rejectionsHeard[flight.process, default: []].insert(id) }
        guard let question = flight.question else { return }
        self.asked[question, default: []].append(Asked(operationID: id, process: flight.process, heard: now))
    }

    /// Of several operations that ask one person one thing, the programs follow one and cancel the others, if they live.
    mutating func checkStrays(at now: Int64) {
        for (_, asked) in self.asked.sorted(by: { $0.key < $1.key }) where asked.count > 1 {
            self.count("people asked twice")
            let forgotten = asked.first {
                let end = $0.heard + Self.cancelation
                return end < now && !self.trace.followed.contains($0.operationID)
                    && !self.trace.isDisturbed($0.process, in: $0.heard...end)
            }
            guard let forgotten else { continue }
            self.fail("\(self.name(of: forgotten.operationID)) asks a person a second time, and nobody cancels it")
        }
    }

    /// Notes the start of a question's action.
    mutating func acted(_ question: String, by operationIDs: [String], at now: Int64) {
        self.count("actions")
        self.actions[question, default: 0] += 1
        if self.actions[question, default: 0] > 1 { self.fail("the action of \(question) ran twice") }
        for id in operationIDs {
            if self.carriedOut[id]?.isApproval != true {
                self.fail("the action of \(question) ran, and nobody approved \(self.name(of: id))")
            } else if now - (self.decided[id] ?? now) > World.approvalIsGoodFor.nanoseconds {
                self.fail("the action of \(question) ran by an approval that is too old")
            }
        }
    }

    /// Returns whether a program has heard that the person of a device rejected all questions since a time.
    func hasHeardRejections(_ process: Int, of device: Int, since start: Int64) -> Bool {
        let asked = self.operations.filter {
            $0.value.device == device && $0.value.kind == .refusedQuestion && $0.value.made >= start
        }.keys
        return !asked.isEmpty && asked.allSatisfy { self.rejectionsHeard[process]?.contains($0) ?? false }
    }

    /// Returns whether the person of a device has rejected all questions of a time.
    func hasRejectedAll(of device: Int, since start: Int64, before end: Int64) -> Bool {
        let asked = self.operations.filter {
            $0.value.device == device && $0.value.kind == .refusedQuestion && $0.value.made >= start
        }.keys
        return !asked.isEmpty
            && asked.allSatisfy { self.carriedOut[$0]?.isApproval == false && (self.decided[$0] ?? .max) < end }
    }
}
