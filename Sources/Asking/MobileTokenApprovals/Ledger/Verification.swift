import Basics
import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuth
import PowerAuthCrypto

/// The result of comparing an operation with its question.
enum Reading: Equatable {
    /// It matches, and these are the signed data.
    case verified(data: String)
    /// It may match: the server shows no data.
    case unreadable
    case mismatch(String)
}

extension QuestionRecord {
    /// A creation takes time, and a server's `Date` has whole seconds.
    static let expiryTolerance: Int64 = 10_000
    /// The longest time in milliseconds that the network holds back the request for an operation, which has so much less time then.
    static let longestDelay: Int64 = 60_000

    func parameters(_ index: Int) throws -> [String: String] { try self.wording(index).parameters }

    func expectedData(_ index: Int) throws -> String { try self.wording(index).data }

    /// Compares an operation with the question, byte by byte.
    ///
    /// - Parameter offlineCode: The offline QR code, if the response has no data.
    func read(_ operation: CloudClient.Operation, _ index: Int, offlineCode: OfflineQuestion? = nil) throws -> Reading {
        let part = self.parts[index]
        if let id = part.operationID, !id.isExactly(operation.id) { return .mismatch("another operation was answered") }
        guard operation.userID?.isExactly(part.person.user) == true else {
            return .mismatch("the operation is not of the user who was asked")
        }
        if let type = self.terms.template.operationType ?? part.operationType, !type.isExactly(operation.operationType)
        {
            return .mismatch("the operation is of another type")
        }
        if let objection = try self.objection(to: operation.allParameters, index) { return .mismatch(objection) }
        let (starts, ends) = (operation.created.milliseconds, operation.expires.milliseconds)
        let lifetime = ends.subtractingSaturated(starts)
        let missing = self.terms.milliseconds.subtractingSaturated(lifetime)
        guard (-Self.expiryTolerance...Self.longestDelay).contains(missing) else {
            return .mismatch("the server gave another time to decide, or this clock is wrong")
        }
        if let created = part.created, let expires = part.expires, (created, expires) != (starts, ends) {
            return .mismatch("the operation's times have changed")
        }
        guard let data = operation.data ?? offlineCode?.data else { return .unreadable }
        for data in [operation.data, offlineCode?.data].compactMap({ $0 }) {
            guard data.isExactly(try self.expectedData(index)) else {
                return .mismatch("the data to be signed are not those of the pinned form")
            }
        }
        let readable = ReadableValues(signing: data)
        let own = try self.wording(index).desk
        for text in offlineCode?.texts ?? [] {
            // The fingerprint is in the binding's alphabet, and may read like an amount.
            let rest = own.reduce(text) { $0.replacing($1, with: " ") }
            guard let deception = readable.deception(in: rest) else { continue }
            return .mismatch("a text of its offline QR code shows \(deception) that is not signed")
        }
        return .verified(data: data)
    }

    private func objection(to answered: [String: JSONValue], _ index: Int) throws -> String? {
        let asked = try self.parameters(index)
        for (name, value) in asked {
            guard let answer = answered[name] else {
                return "the server dropped the parameter '\(name)', which no placeholder of its template names"
            }
            guard answer.string?.isExactly(value) == true else { return "the server has another value of '\(name)'" }
        }
        guard answered.count == asked.count else { return "the server added parameters" }
        return nil
    }
}

extension QuestionRecord {
    /// Returns the key that signed a person's approval, in Base64; `nil` if there is none, or none is required.
    func signingKey(_ index: Int) -> String? {
        let part = self.parts[index]
        guard let keys = self.terms.deviceKeys?[part.person.user], let signature = part.deviceSignature,
            let data = try? self.expectedData(index)
        else { return nil }
        return keys.first { encoded in
            guard let der = Base64.decode(encoded), let key = try? DeviceKey.PublicKey(der: der) else { return false }
            return key.isSignature(signature, ofOperationData: data)
        }
    }

    /// Returns the reason why a person's approval does not count without a signature; `nil` if it does.
    func objectionToSignature(_ index: Int) -> (ApprovalError.Code, String)? {
        guard self.terms.deviceKeys != nil, self.signingKey(index) == nil else { return nil }
        let part = self.parts[index]
        return part.deviceSignature == nil
            ? (.cannotVerify, "The server hands on no signature of \(part.person)'s device, which the request demands")
            : (.deviceNotAccepted, "What \(part.person) approved is signed by none of the keys that the request names")
    }
}

/// The age of an approval, by the server's timestamps.
enum ApprovalAge {
    /// The tolerated difference between the clocks of a server's nodes.
    static let tolerance: Int64 = 10_000

    /// Returns the age in milliseconds, or `nil` if a clock was set back, which makes it unknown.
    ///
    /// - Parameters:
    ///   - answered: The server's time in the latest response; without one, the desk's.
    ///   - finalized: The server's time of the approval.
    ///   - lastPending: The server's latest time before the approval.
    static func age(answered: Int64, finalized: Int64?, lastPending: Int64?) -> Int64? {
        guard let since = finalized ?? lastPending else { return nil }
        let age = answered.subtractingSaturated(since)
        return age < -self.tolerance ? nil : max(0, age)
    }
}

extension QuestionRecord {
    /// Returns whether a created operation may be the requested one: it has no other question's binding. A missing or damaged
    /// binding may be the template's fault.
    func mayBeOurs(_ operation: CloudClient.Operation, _ index: Int) throws -> Bool {
        guard let answered = operation.allParameters[ApprovalTemplate.binding]?.string,
            Base64URL.decode(answered)?.count == SHA256.byteCount
        else { return true }
        return try answered.isExactly(self.binding(index).string)
    }

    /// Returns whether an operation has a person's binding; it is a stray if it is not the one that counts.
    func isOurs(_ operation: CloudClient.Operation, _ index: Int) throws -> Bool {
        if self.parts[index].operationID?.isExactly(operation.id) == true { return false }
        let binding = try self.binding(index).string
        return operation.allParameters[ApprovalTemplate.binding]?.string?.isExactly(binding) == true
            && operation.userID?.isExactly(self.parts[index].person.user) == true
    }

    /// The error of an action that has already begun.
    var alreadyPerformed: ApprovalError {
        let performance: ApprovalError.Performance
        let message: String
        switch (self.state, self.settled?.outcome) {
        case (.done, _), (.settled, .wasDone): (performance, message) = (.done, "It was done before")
        case (.threw, _):
            (performance, message) = (.threw, "It was tried before, and failed: ask anew under another name")
        case (.settled, _): (performance, message) = (.threw, "It was settled as not done: ask anew under another name")
        case (.claimed, _): (performance, message) = (.running, "Another process is at it")
        default:
            performance = .unknown
            message = "It was begun before, and nobody knows how far it came: find out, and settle it"
        }
        return ApprovalError(.alreadyPerformed, message, questionID: self.terms.id, performance: performance)
    }

    /// The error of a question that cannot be acted on.
    var refusal: ApprovalError {
        if self.state.wasClaimed { return self.alreadyPerformed }
        let code = self.reason.map { ApprovalError.Code($0.code) } ?? .failed
        return ApprovalError(code, self.reason?.message ?? "It cannot be acted on", questionID: self.terms.id)
    }

    /// The end of the question, before anything was done.
    var decision: ApprovalTicket.Decision {
        switch self.state {
        case .approved, .claimed, .done, .threw, .settled: return .approved(self.approvals)
        case .unknown where self.approved != nil: return .approved(self.approvals)
        case .rejected:
            let part = self.parts.first { $0.answer == .rejected } ?? self.parts[0]
            return .rejected(by: part.person, reason: part.reason)
        case .expired, .lapsed: return .expired
        case .canceled, .withdrawn: return .canceled(reason: self.reason?.message)
        case .drafted, .open, .failed, .mismatched, .unknown:
            let refusal = self.refusal
            return .failed(ApprovalTicket.Decision.Failure(code: refusal.code, message: refusal.message))
        }
    }

    private var approvals: [PersonalApproval] {
        self.parts.compactMap { part in
            guard part.answer == .approved, let id = part.operationID else { return nil }
            return PersonalApproval(
                person: part.person,
                userID: part.person.user,
                operationID: id,
                signedData: part.signedData,
                registrationID: part.registrationID,
                factors: part.factors,
                approvedAt: part.finalized.map(Date.init(milliseconds:)),
                evidence: part.evidence ?? .unverifiedData
            )
        }
    }
}
