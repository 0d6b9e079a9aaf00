import PowerAuthProtocol

/// The server's half of the keys of an activation, in the version of the protocol that it is of.
enum DeviceBinding: Sendable {
    case version3(Version3.Keys)

    /// The version that the activation is of.
    var version: MajorVersion {
        switch self {
        case .version3: .version3
        }
    }

    /// The keys of that version.
    var keys: any DeviceKeys {
        switch self {
        case .version3(let keys): keys
        }
    }

    /// The keys of version 3, if the activation has any.
    var version3: Version3.Keys? {
        switch self {
        case .version3(let keys): keys
        }
    }

    /// Verifies a code with the keys of a version, and moves their counter when it is right.
    mutating func verify(_ code: CodeToVerify, of version: MajorVersion, lookAhead: Int) -> CodeVerdict {
        switch (self, version) {
        case (.version3(var keys), .version3):
            defer { self = .version3(keys) }
            return keys.verify(code, lookAhead: lookAhead)
        }
    }

    /// Moves the counter ahead.
    mutating func advance(by steps: Int) {
        switch self {
        case .version3(var keys):
            keys.advance(by: steps)
            self = .version3(keys)
        }
    }
}

/// The server's half of the keys of an activation in one version of the protocol, with the counter of its codes.
protocol DeviceKeys: Sendable {
    /// The version as headers name it.
    var versionName: String { get }
    /// How often the counter has moved. The wire knows it modulo 256; the journal shows it whole.
    var steps: UInt64 { get }

    /// Returns the eight digits that the device shows as well.
    func fingerprint(activationID: String) -> String

    /// Returns the end of the last line of an offline code for this activation alone: the digit of a key, and the signature or tag.
    ///
    /// - Parameter lines: Everything before the digit.
    func offlineSignature(of lines: String) throws -> String

    /// Verifies a code, and moves the counter behind it when it is right.
    mutating func verify(_ code: CodeToVerify, lookAhead: Int) -> CodeVerdict

    /// Moves the counter ahead.
    mutating func advance(by steps: Int)
}

/// A signature or an authentication code, and what it must be made of.
struct CodeToVerify {
    enum Form {
        /// From a header.
        case online([UInt8], ApplicationSecret)
        /// Typed in by a person.
        case offline(String)
    }

    let form: Form
    let type: SignatureType
    let data: SignatureData
}

/// The verdict on a signature or an authentication code.
enum CodeVerdict {
    case accepted
    /// Wrong, which counts as a failed attempt. Names the reason, for the journal.
    case refused(String)
    /// Not to be judged, which counts as nothing. Names the reason, for the journal.
    case notJudged(String)
}

extension DeviceBinding: Codable {
    init(from decoder: any Decoder) throws { self = .version3(try Version3.Keys(from: decoder)) }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .version3(let keys): try keys.encode(to: encoder)
        }
    }
}
