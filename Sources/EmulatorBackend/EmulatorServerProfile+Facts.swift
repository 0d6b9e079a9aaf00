import Basics

// The differences between the releases of real servers. Nothing else asks for the release itself.

extension EmulatorServerProfile {
    /// Indicates whether version 4 of the protocol is served: from 2.1 on.
    public var servesVersion4: Bool { self.isOfSecondGeneration }
    /// Indicates whether codes of three factors are accepted as well as those of two: until 1.10.
    public var acceptsThreeFactors: Bool { !self.isOfSecondGeneration }
    /// Indicates whether activations of version 3 come with a recovery code, which grants another: until 1.10.
    public var hasRecovery: Bool { !self.isOfSecondGeneration }
    /// Indicates whether a device may be allowed to remove its activation with possession alone: from 2.1 on, as a setting.
    public var canAllowRemovalByPossession: Bool { self.isOfSecondGeneration }
    /// Indicates whether a device of version 3 can be renamed: from 2.2 on. Older servers look for the name in the envelope itself, and
    /// refuse each.
    public var renamesVersion3: Bool { self.release >= .v2_2 }
    /// Indicates whether an activation of version 4 can be blocked for a time: from 2.2 on, as a setting.
    public var canBlockForATime: Bool { self.release >= .v2_2 }
    /// Indicates whether a missing member of a request is reported as `ERR_VALIDATION`: from 2.1 on.
    public var validatesRequests: Bool { self.isOfSecondGeneration }

    /// The word for a code in the messages of refusals: `SIGNATURE` until 1.10, then `CODE`.
    var codeWord: String { self.isOfSecondGeneration ? "CODE" : "SIGNATURE" }

    private var isOfSecondGeneration: Bool { self.release >= .v2_1 }

    /// Indicates whether a path is served at all.
    func serves(_ path: String) -> Bool {
        if path.utf8.starts(with: "/pa/v4/".utf8) { return self.servesVersion4 }
        if path.utf8.starts(with: "/pa/v3/recovery/".utf8) { return self.hasRecovery }
        return true
    }
}

extension EmulatorServerProfile {
    /// The profile in a few words.
    package var summary: String {
        "a real server of release \(self.release.rawValue)\(self.isStrict ? ", strictly" : "")"
    }
}

// MARK: - Clocks

/// By how much a timestamp may differ from the server's time.
struct TimestampWindow: Equatable {
    /// `nil` for any age.
    var behind: Milliseconds?
    var ahead: Milliseconds

    /// Returns the reason why a timestamp is refused; `nil` for one that is not.
    func objection(to timestamp: Milliseconds, at now: Milliseconds) -> String? {
        if timestamp > now + self.ahead { return "the timestamp is too far ahead" }
        if let behind = self.behind, timestamp < now - behind { return "the timestamp is too old" }
        return nil
    }

    func admits(_ timestamp: Milliseconds, at now: Milliseconds) -> Bool {
        self.objection(to: timestamp, at: now) == nil
    }

    /// Returns until when a request with this timestamp, which is admitted, must not be accepted again.
    func end(of timestamp: Milliseconds, at now: Milliseconds) -> Milliseconds {
        guard let behind = self.behind else { return max(timestamp, now) + Self.longestMemory }
        return timestamp + behind
    }

    /// For how long a request is remembered that would be accepted for ever.
    static var longestMemory: Milliseconds { 7_200_000 }

    fileprivate static func within(seconds: Int64) -> Self {
        Self(behind: seconds * 1_000, ahead: seconds * 1_000)
    }
}

extension EmulatorServerProfile {
    /// The window of an envelope with a timestamp: at most a minute ahead in 1.9, ten seconds in 1.10, five minutes from 2.1 on.
    func envelopeWindow(_ limits: EmulatorLimits) -> TimestampWindow {
        var window: TimestampWindow =
            switch self.release {
            case .v1_9: TimestampWindow(behind: nil, ahead: 60_000)
            case .v1_10: .within(seconds: 10)
            case .v2_1, .v2_2: .within(seconds: 300)
            }
        if let ahead = limits.encryptionTimestampAhead { window.ahead = ahead.inMilliseconds }
        return window
    }

    /// The window of a token's timestamp: from two hours behind to a minute ahead in 1.9, ten seconds in 1.10, five minutes from
    /// 2.1 on. The tokens of 3.1 have more.
    func tokenWindow(ofVersion version: String, _ limits: EmulatorLimits) -> TimestampWindow {
        let isOld = version.isExactly("3.1")
        let twoHours: Milliseconds = 7_200_000
        var window: TimestampWindow =
            switch self.release {
            case .v1_9: TimestampWindow(behind: twoHours, ahead: isOld ? 1_800_000 : 60_000)
            case .v1_10: isOld ? TimestampWindow(behind: twoHours, ahead: 10_000) : .within(seconds: 10)
            case .v2_1, .v2_2: .within(seconds: isOld ? 7_200 : 300)
            }
        if let age = limits.tokenTimestampAge { window.behind = age.inMilliseconds }
        if let ahead = limits.tokenTimestampAhead { window.ahead = ahead.inMilliseconds }
        return window
    }
}

// MARK: - Other releases

extension EmulatorServerProfile {
    /// Returns a word for the journal on the releases other than this one of which something holds; empty if there are none.
    func releases(where holds: (Self) -> Bool) -> String {
        let names = Release.allCases.filter { $0 != self.release && holds(Self($0, isStrict: self.isStrict)) }
            .map(\.rawValue)
        return names.isEmpty ? "" : "; servers of release \(names.joined(separator: ", ")) take it"
    }
}
