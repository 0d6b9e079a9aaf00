import PowerAuthProtocol

/// The server's half of an activation's keys, in its protocol version. Indirect, because each request copies its activation.
indirect enum DeviceBinding: Sendable {
    case version3(Version3.Keys)
    /// Version 3 keys, with version 4 keys that wait for the device to confirm its upgrade.
    case upgrading(Version3.Keys, to: Version4.Keys)
    case version4(Version4.Keys)

    /// The activation's protocol version.
    var version: MajorVersion {
        switch self {
        case .version3, .upgrading: .version3
        case .version4: .version4
        }
    }

    /// The keys of that version.
    var keys: any DeviceKeys {
        switch self {
        case .version3(let keys), .upgrading(let keys, _): keys
        case .version4(let keys): keys
        }
    }

    /// The version 3 keys, if any.
    var version3: Version3.Keys? {
        switch self {
        case .version3(let keys), .upgrading(let keys, _): keys
        case .version4: nil
        }
    }

    /// The version 4 keys, if any, including those of an unconfirmed upgrade.
    var version4: Version4.Keys? {
        switch self {
        case .version3: nil
        case .upgrading(_, let keys), .version4(let keys): keys
        }
    }

    /// Returns the keys of a version, if any.
    func keys(of version: MajorVersion) -> (any DeviceKeys)? {
        switch version {
        case .version3: self.version3
        case .version4: self.version4
        }
    }

    /// Indicates whether requests with the keys of a version are admitted.
    func admits(_ version: MajorVersion, _ admission: Admission) -> Bool {
        version == self.version || admission.belongsToUpgrade && self.keys(of: version) != nil
    }

    /// Verifies a code with a version's keys, and moves their counter past a valid one.
    mutating func verify(_ code: CodeToVerify, of version: MajorVersion, lookAhead: Int) -> CodeVerdict {
        switch (self, version) {
        case (.version3(var keys), .version3):
            defer { self = .version3(keys) }
            return keys.verify(code, lookAhead: lookAhead)
        case (.upgrading(var keys, let newKeys), .version3):
            defer { self = .upgrading(keys, to: newKeys.numbered(keys.steps)) }
            return keys.verify(code, lookAhead: lookAhead)
        case (.upgrading(let keys, var newKeys), .version4):
            defer { self = .upgrading(keys.numbered(newKeys.steps), to: newKeys) }
            return newKeys.verify(code, lookAhead: lookAhead)
        case (.version4(var keys), .version4):
            defer { self = .version4(keys) }
            return keys.verify(code, lookAhead: lookAhead)
        case (.version3, .version4), (.version4, .version3):
            return .notJudged("the activation has no keys of this version of the protocol")
        }
    }

    mutating func advance(by steps: Int) {
        switch self {
        case .version3(var keys):
            keys.advance(by: steps)
            self = .version3(keys)
        case .upgrading(var keys, let newKeys):
            keys.advance(by: steps)
            self = .upgrading(keys, to: newKeys.numbered(keys.steps))
        case .version4(var keys):
            keys.advance(by: steps)
            self = .version4(keys)
        }
    }

    mutating func updateVersion4(_ change: (inout Version4.Keys) -> Void) {
        switch self {
        case .version3: break
        case .upgrading(let keys, var newKeys):
            change(&newKeys)
            self = .upgrading(keys, to: newKeys)
        case .version4(var keys):
            change(&keys)
            self = .version4(keys)
        }
    }

    /// Adds version 4 keys beside those of version 3, replacing an earlier attempt's. Both share one counter sequence.
    mutating func beginUpgrade(to newKeys: Version4.Keys) {
        switch self {
        case .version3(let keys), .upgrading(let keys, _):
            self = .upgrading(keys, to: newKeys.numbered(keys.steps))
        case .version4: break
        }
    }

    /// Drops the version 3 keys.
    mutating func finishUpgrade() {
        if case .upgrading(_, let newKeys) = self { self = .version4(newKeys) }
    }
}

/// The server's half of an activation's keys in one protocol version, with the counter of its codes.
protocol DeviceKeys: Sendable {
    /// The version's name in headers.
    var versionName: String { get }
    /// The number of counter steps. The wire has it modulo 256; the journal shows the full number.
    var steps: UInt64 { get }

    /// Returns the eight digits that the device also shows.
    func fingerprint(activationID: String) -> String

    /// Returns the end of an offline code's last line for only this activation: a key's digit, and the signature or tag.
    ///
    /// - Parameter lines: Everything before the digit.
    func offlineSignature(of lines: String) throws -> String

    /// Verifies a code, and moves the counter past a valid one.
    mutating func verify(_ code: CodeToVerify, lookAhead: Int) -> CodeVerdict

    /// Returns the reason why a code is invalid, which costs more than the verdict.
    func diagnosis(of code: CodeToVerify, lookAhead: Int) -> CodeDiagnosis

    mutating func advance(by steps: Int)

    /// Returns the keys with another number for the next code, and the same `CTR_DATA`.
    func numbered(_ steps: UInt64) -> Self
}

/// A signature or an authentication code to verify.
struct CodeToVerify {
    enum Form {
        /// From a header.
        case online([UInt8], ApplicationSecret)
        /// Typed in by a person, in groups of digits.
        case offline(String, digits: Int)
    }

    let form: Form
    let type: SignatureType
    let data: SignatureData
}

/// The verdict on a signature or an authentication code.
enum CodeVerdict {
    case accepted
    /// Invalid, which counts as a failed attempt; ``DeviceKeys/diagnosis(of:lookAhead:)`` finds the reason.
    case refused
    /// Not verified, which does not count, with the reason for the journal.
    case notJudged(String)
}

// MARK: - Exported state

/// The format of version 3 keys predates version 4; an upgrade's keys are beside them.
extension DeviceBinding: Codable {
    private enum CodingKeys: CodingKey { case version, upgrade }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decode(String.self, forKey: .version) != Version4.name else {
            self = .version4(try Version4.Keys(from: decoder))
            return
        }
        let keys = try Version3.Keys(from: decoder)
        self =
            if let newKeys = try container.decodeIfPresent(Version4.Keys.self, forKey: .upgrade) {
                .upgrading(keys, to: newKeys)
            } else {
                .version3(keys)
            }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .version3(let keys): try keys.encode(to: encoder)
        case .upgrading(let keys, let newKeys):
            try keys.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(newKeys, forKey: .upgrade)
        case .version4(let keys): try keys.encode(to: encoder)
        }
    }
}
