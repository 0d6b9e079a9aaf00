import Basics
import PowerAuthProtocol

/// Asks people, by operations of the server, and takes an operation that is what was asked.
extension DeskCore {
    func send(_ noted: [Int], _ look: inout Look) async throws {
        var sent = Set(noted)
        for index in noted { try await self.create(index, &look) }
        while let index = look.stored.record.toSend(at: self.now, patience: self.patience).first(where: {
            !sent.contains($0)
        }) {
            sent.insert(index)
            var record = look.stored.record
            record.send(index, at: self.now)
            guard let stored = try await self.ledger.swap(look.stored, to: record) else {
                // Another process was quicker, and may be sending.
                look.stored = try await self.loaded(record.key)
                return
            }
            look.stored = stored
            try await self.create(index, &look)
        }
    }

    private func create(_ index: Int, _ look: inout Look) async throws {
        do {
            let hasAsked = try await self.learnTime()
            if try await self.server.waitForTurns() || hasAsked || !look.isCurrent {
                guard try await self.mayCreate(index, &look) else { return }
            }
            look.isCurrent = false
            let record = look.stored.record
            let operation = NewApprovalOperation(
                userID: record.parts[index].person.user,
                template: record.terms.template,
                parameters: try record.parameters(index),
                language: record.terms.language,
                externalID: try record.binding(index).string,
                expires: self.serverNow.addingSaturated(record.terms.seconds * 1_000)
            )
            let answer = try await self.server.unpaced.create(operation)
            guard try record.mayBeOurs(answer.value, index) else {
                // An operation of somebody else must not be canceled in place of ours, which may exist as well.
                throw ServerFailure(
                    .unanswered(isOutcomeUnknown: true),
                    code: "invalidResponse",
                    message: "The answer is of another question's operation",
                    date: answer.date
                )
            }
            self.note(answer.date ?? answer.value.created)
            try await self.created(answer, index, &look)
        } catch let failure as ServerFailure {
            look.note(failure)
            self.note(failure, look.stored.record)
            switch failure.kind {
            case .refused, .notFound, .notPending:
                look.stored = try await self.ledger.change(look.stored) {
                    $0.unsend(index)
                    $0.end(
                        .failed,
                        .failed,
                        "The server refused to ask (\(DisplayText.escaped(failure.code)))",
                        at: self.now
                    )
                }
            case .unanswered(isOutcomeUnknown: false):
                look.stored = try await self.ledger.change(look.stored) { $0.unsend(index) }
            case .unanswered(isOutcomeUnknown: true), .canceled:
                // Created again after the time in which it may still arrive.
                break
            }
        }
    }

    /// Looks at the question once more, before a person is asked after a wait: it may have ended meanwhile, or another process may have
    /// taken the creation for lost.
    private func mayCreate(_ index: Int, _ look: inout Look) async throws -> Bool {
        let noted = look.stored.record.parts[index]
        look.stored = try await self.loaded(look.stored.record.key)
        var record = look.stored.record
        let part = record.parts[index]
        guard record.state.isPending, part.operationID == nil, part.attempts == noted.attempts, part.sent == noted.sent
        else { return false }
        // Others count the time in which it may arrive from what is noted.
        guard let sent = part.sent, self.now.subtractingSaturated(sent).magnitude > 1_000 else { return true }
        record.postpone(index, to: self.now)
        guard let stored = try await self.ledger.swap(look.stored, to: record) else { return false }
        look.stored = stored
        return true
    }

    /// Takes an operation that was created, if it is what was asked.
    func created(_ answer: Dated<ApprovalOperation>, _ index: Int, _ look: inout Look) async throws {
        let record = look.stored.record
        let operation = answer.value
        var reading = try record.read(operation, index)
        var evidence = PersonalApproval.Evidence.answer
        var data: String?
        if reading == .unreadable, let offline = try await self.offlineData(of: operation, record, index) {
            reading = try record.read(operation, index, offlineData: offline)
            (evidence, data) = (.offlineCode, offline)
        }
        let ending: (ApprovalState, ApprovalError.Code, String)?
        switch reading {
        case .verified where operation.data == nil && record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .verified: ending = nil
        case .mismatch(let objection):
            ending = (.mismatched, .bindingMismatch, "The server asks something else: \(objection)")
        case .unreadable where record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .unreadable where record.terms.acceptsUnverifiedData || record.terms.deviceKeys != nil:
            // The device's signature tells the data, once there is one.
            (ending, evidence) = (nil, .unverifiedData)
        case .unreadable:
            ending = (
                .failed, .cannotVerify,
                "The server does not show the data that are signed, and no offline QR code tells them"
            )
        }
        look.stored = try await self.ledger.change(look.stored) { record in
            _ = record.adopt(operation, for: index, date: answer.date, data: data, evidence: evidence, at: self.now)
            if let (state, code, message) = ending { record.end(state, code, message, at: self.now) }
        }
    }

    /// The data of an operation as the offline QR code of a registration tells them: its fourth line.
    private func offlineData(of operation: ApprovalOperation, _ record: QuestionRecord, _ index: Int) async throws
        -> String?
    {
        guard let registration = record.terms.offlineRegistrations[record.parts[index].person.user] else { return nil }
        do {
            let answer = try await self.server.offlineCode(ofOperation: operation.id, registration: registration)
            self.note(answer.date)
            return Self.data(inOfflineCode: answer.value, of: operation.id)
        } catch {
            self.note(error, record)
            return nil
        }
    }

    /// Returns the data in an offline QR code.
    ///
    /// A title or a message with lines of its own would move another line to the place of the data. So lines of later formats tell nothing,
    /// nor do flags or a one-time code that are none.
    private static func data(inOfflineCode code: String, of operationID: String) -> String? {
        guard let lines = try? OfflineCodeLines(Array(code.utf8)), lines.later.isEmpty,
            lines.operationID.elementsEqual(operationID.utf8), lines.flags.allSatisfy(\.isASCIICapital)
        else { return nil }
        if let code = lines.oneTimeCode, code.isEmpty || !code.allSatisfy(\.isASCIIDigit) { return nil }
        return String(decoding: lines.data, as: UTF8.self)
    }
}
