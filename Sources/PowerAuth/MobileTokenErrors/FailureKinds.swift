import Basics

/// The properties of an error code, in one table for all judgments of failures.
package struct FailureKinds: OptionSet, Sendable {
    package let rawValue: Int

    /// The same call may succeed later.
    static let passing = Self(rawValue: 1)
    /// An outage of the server, by a code that means something else for other calls.
    static let outage = Self(rawValue: 2)
    static let neverLeft = Self(rawValue: 4)
    /// The operation was already decided or canceled, or failed.
    package static let decidedBefore = Self(rawValue: 8)
    package static let expired = Self(rawValue: 16)

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Returns the kinds of a code by name, including other modules' codes; empty for unlisted ones.
    package init(ofCode name: String) { self = Self.rows[ExactString(name)] ?? [] }

    private static let rows: [ExactString: Self] = [
        "noConnection": [.passing, .neverLeft], "signingTurnLost": [.passing, .neverLeft],
        "tlsFailed": .neverLeft, "invalidConfiguration": .neverLeft,
        "connectionLost": .passing, "timeout": .passing, "networkUnknown": .passing, "invalidResponse": .passing,
        "httpStatus": .passing, "outcomeUnknown": .passing,
        "storeBusy": .passing, "storeFull": .passing, "storeFailed": .passing, "storeUnreachable": .passing,
        "storeOutcomeUnknown": .passing,
        "remoteCommunicationFailed": .outage, "temporaryKeyRefused": .outage, "encryptionFailed": .outage,
        "refusalUnproven": .outage,
        "operationAlreadyFinished": .decidedBefore, "operationAlreadyRejected": .decidedBefore,
        "operationAlreadyCanceled": .decidedBefore, "operationAlreadyFailed": .decidedBefore,
        "authorizeExpired": .expired, "rejectExpired": .expired, "claimExpired": .expired, "detailExpired": .expired,
    ]
}

/// The certainty with which a failed request was not carried out.
package enum RequestFailureKind: Sendable, Hashable {
    /// The server did not carry it out: it said so, or the request was never sent.
    case refused
    /// The server may have carried it out.
    case unknown
}

extension MobileTokenError {
    package var kinds: FailureKinds { FailureKinds(ofCode: self.code.description) }

    /// Indicates whether the same call may succeed later: after a network failure, an overload, a garbled response, or with a
    /// busy or full store.
    package var isPassing: Bool {
        !self.kinds.isDisjoint(with: [.passing, .outage])
            || self.httpStatus.map { $0 == 429 || !self.isServersRefusal } ?? false
    }

    /// The kind of failure of the request. Only two things are certain: the server's own refusal, and a request of which no byte
    /// was sent. A proxy may respond before or after the server did the work, with any status.
    package var failureKind: RequestFailureKind {
        self.isServersRefusal || self.httpStatus == nil && self.kinds.contains(.neverLeft)
            ? .refused : .unknown
    }

    /// Indicates whether the server itself refused with a code in its envelope. A failure of it or a server behind it does not
    /// count, because the work may be done.
    package var isServersRefusal: Bool {
        guard let httpStatus, let serverCode, Self.mayRefuse(httpStatus) else { return false }
        return !self.isOutage && !Self.serverCodesOfFailuresBehind.contains(serverCode)
    }

    /// Indicates an HTTP error without the server's envelope, such as a proxy's page.
    package var isPageOfAnother: Bool {
        guard let httpStatus, (400..<500).contains(httpStatus) else { return false }
        return self.serverCode == nil
    }

    /// Indicates an outage of the server, by a code that means something else for other calls.
    package var isOutage: Bool { self.kinds.contains(.outage) }

    /// Returns whether this status can be a refusal; others are failures or another party's.
    package static func mayRefuse(_ httpStatus: Int) -> Bool {
        (200..<300).contains(httpStatus) || (400..<500).contains(httpStatus) && httpStatus != 408
    }

    private static let serverCodesOfFailuresBehind: Set<String> = ["REMOTE_COMMUNICATION_ERROR", "ERROR_GENERIC"]
}
