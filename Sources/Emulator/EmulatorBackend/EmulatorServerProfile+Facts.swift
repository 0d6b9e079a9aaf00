import Basics

// The differences between the releases of real servers. No other code checks the release.

extension EmulatorServerProfile {
    /// Indicates whether version 4 of the protocol is served: from 2.1 on.
    public var servesVersion4: Bool { self.isOfSecondGeneration }
    /// Indicates whether three-factor codes are accepted: until 1.10.
    public var acceptsThreeFactors: Bool { !self.isOfSecondGeneration }
    /// Indicates whether version 3 activations come with a recovery code for a new activation: until 1.10.
    public var hasRecovery: Bool { !self.isOfSecondGeneration }
    /// Indicates whether the calls for upgrading version 2 activations are served: until 1.10. There are none to upgrade.
    var knowsVersion2: Bool { !self.isOfSecondGeneration }
    /// Indicates whether removal of an activation with possession only can be allowed: a setting from 2.1 on.
    public var canAllowRemovalByPossession: Bool { self.isOfSecondGeneration }
    /// Indicates whether a version 3 device can be renamed: from 2.2 on. Older servers look for the name in the envelope itself,
    /// and refuse every request.
    public var renamesVersion3: Bool { self.release >= .v2_2 }
    /// Indicates whether a version 4 activation can be blocked temporarily: a setting from 2.2 on.
    public var canBlockForATime: Bool { self.release >= .v2_2 }
    /// Indicates whether a missing request member is reported as `ERR_VALIDATION`: from 2.1 on.
    public var validatesRequests: Bool { self.isOfSecondGeneration }

    /// The term for a code in refusal messages: `SIGNATURE` until 1.10, then `CODE`.
    var codeWord: String { self.isOfSecondGeneration ? "CODE" : "SIGNATURE" }

    private var isOfSecondGeneration: Bool { self.release >= .v2_1 }

    func serves(_ path: String) -> Bool {
        if path.utf8.starts(with: "/pa/v4/".utf8) { return self.servesVersion4 }
        if path.utf8.starts(with: "/pa/v3/recovery/".utf8) { return self.hasRecovery }
        if path.utf8.starts(with: "/pa/v3/upgrade/".utf8) { return self.knowsVersion2 }
        return true
    }
}

extension EmulatorServerProfile {
    /// The profile in a few words.
    package var summary: String {
        "a real server of release \(self.release.rawValue)"
    }
}

// MARK: - Clocks

/// The allowed difference of a timestamp from the server's time.
struct TimestampWindow: Equatable {
    /// The maximum age; `nil` for any.
    var behind: Milliseconds?
    var ahead: Milliseconds

    /// Returns the reason for refusing a timestamp; `nil` if it is acceptable.
    func objection(to timestamp: Milliseconds, at now: Milliseconds) -> String? {
        if timestamp > now + self.ahead { return "the timestamp is too far ahead" }
        if let behind = self.behind, timestamp < now - behind { return "the timestamp is too old" }
        return nil
    }

    func admits(_ timestamp: Milliseconds, at now: Milliseconds) -> Bool {
        self.objection(to: timestamp, at: now) == nil
    }

    /// Returns the time until which a request with this accepted timestamp must not be accepted again.
    func end(of timestamp: Milliseconds, at now: Milliseconds) -> Milliseconds {
        guard let behind = self.behind else { return max(timestamp, now) + Self.longestMemory }
        return timestamp + behind
    }

    /// The time to remember a request that would be accepted forever.
    static var longestMemory: Milliseconds { 7_200_000 }

    fileprivate static func within(seconds: Int64) -> Self {
        Self(behind: seconds * 1_000, ahead: seconds * 1_000)
    }
}

extension EmulatorServerProfile {
    /// The window of an envelope's timestamp: at most a minute ahead in 1.9, ten seconds in 1.10, five minutes from 2.1 on.
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
    /// 2.1 on. It is wider for 3.1 tokens.
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
    /// Returns a journal note that names the other releases for which `holds` is true, or an empty string.
    func releases(where holds: (Self) -> Bool) -> String {
        let names = Release.allCases.filter { $0 != self.release && holds(Self($0)) }.map(\.rawValue)
        return names.isEmpty ? "" : "; servers of release \(names.joined(separator: ", ")) take it"
    }
}
