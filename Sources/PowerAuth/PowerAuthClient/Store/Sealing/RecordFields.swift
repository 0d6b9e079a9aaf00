import Basics
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// A record as named values: open ones that any process may read, and secret ones to be sealed.
struct RecordFields {
    var open: [ExactString: [UInt8]] = [:]
    var secret: [ExactString: SecretBytes] = [:]

    enum Name {
        static let name: ExactString = "name"
        static let createdAt: ExactString = "created-at"
        static let applicationKey: ExactString = "application-key"
        static let version: ExactString = "version"
        static let counter: ExactString = "counter"
        /// The server's step that needs a confirmation.
        static let pendingConfirmation = ExactString(SealedActivation.upgradeMark.name)
        static let tokenPrefix = "token:"
        /// Separates a token's name and factors. Names do not contain it.
        static let factorSeparator: Unicode.Scalar = "\u{1F}"

        static let open: Set = [name, createdAt, applicationKey, version, pendingConfirmation]
        static let secret: Set = [counter]
    }

    /// The fields that only one protocol version has.
    struct VersionNames {
        var open: Set<ExactString>
        var secret: Set<ExactString>
    }

    init() {}

    init(_ record: ActivationRecord) {
        self.open[Name.name] = record.name.map { Array($0.utf8) }
        self.open[Name.createdAt] = record.createdAt.timeIntervalSinceReferenceDate.bitPattern.bigEndianBytes
        self.open[Name.applicationKey] = Array(record.applicationKey.utf8)
        switch record.keys {
        case .version3(let keys): self.write(keys)
        case .version4(let keys): self.write(keys)
        }
        self.write(record.ledger)
        for (name, token) in record.tokens {
            self.secret[Self.name(ofToken: name, token.factors)] = Self.bytes(of: token)
        }
    }

    /// Returns the record. Every value must be present and well-formed, and no other.
    func record(activationID: String) throws -> ActivationRecord {
        let version = try self.version()
        try self.checkNames(for: version)
        guard let createdAt = UInt64(bigEndianBytes: try self.bytes(Name.createdAt)[...]) else {
            throw MobileTokenError.damaged(Name.createdAt.string)
        }
        let keys: VersionedKeys =
            if version.isVersion3 {
                .version3(try self.version3Keys(version))
            } else {
                .version4(try self.version4Keys())
            }
        let ledger = try self.ledger(of: version)
        return ActivationRecord(
            activationID: activationID,
            name: self.open[Name.name] == nil ? nil : try self.string(Name.name),
            applicationKey: try self.string(Name.applicationKey),
            createdAt: Date(timeIntervalSinceReferenceDate: Double(bitPattern: createdAt)),
            keys: keys,
            counter: ledger.counter,
            history: ledger.history,
            isUnsettled: ledger.isUnsettled,
            unseenSignatures: ledger.unseenSignatures,
            tokens: try self.tokens()
        )
    }

    func version() throws -> ProtocolVersion {
        let name = try self.string(Name.version)
        guard let version = ProtocolVersion(rawValue: name) else {
            throw MobileTokenError(.storeFromFuture, "The activation is of a version of the protocol not known here")
        }
        return version
    }

    /// Throws for an unknown value, which the next change would lose.
    private func checkNames(for version: ProtocolVersion) throws {
        let names = version.isVersion3 ? Self.version3Names : Self.version4Names
        let unknown =
            self.open.keys.first { !Name.open.contains($0) && !names.open.contains($0) }
            ?? self.secret.keys.first {
                !Name.secret.contains($0) && !names.secret.contains($0) && $0.dropping(prefix: Name.tokenPrefix) == nil
            }
        guard let unknown else { return }
        throw MobileTokenError(.storeFromFuture, "This version does not know the stored value '\(unknown)'")
    }

    func bytes(_ name: ExactString) throws -> [UInt8] {
        guard let bytes = self.open[name] else { throw MobileTokenError.damaged(name.string) }
        return bytes
    }

    func string(_ name: ExactString) throws -> String {
        guard let text = String(validating: try self.bytes(name), as: UTF8.self) else {
            throw MobileTokenError.damaged(name.string)
        }
        return text
    }

    func secretBytes(_ name: ExactString) throws -> SecretBytes {
        guard let secret = self.secret[name] else { throw MobileTokenError.damaged(name.string) }
        return secret
    }
}

// The counter, which every signature changes: one byte with the unsettled flag and twice the lost signatures; moves, confirmed
// moves, counter byte, counter data.
extension RecordFields {
    private static let counterHeaderByteCount = 18

    mutating func write(_ ledger: CounterLedger) { self.secret[Name.counter] = Self.bytes(of: ledger) }

    private static func bytes(of ledger: CounterLedger) -> SecretBytes {
        ledger.counter.data.withUnsafeBytes { data in
            SecretBytes(count: self.counterHeaderByteCount + data.count) { target in
                var header: [UInt8] = [ledger.unseenSignatures << 1 | (ledger.isUnsettled ? 1 : 0)]
                header += ledger.history.moves.bigEndianBytes
                header += ledger.history.confirmedMoves.bigEndianBytes
                header.append(ledger.counter.byte)
                target.copyBytes(from: header)
                UnsafeMutableRawBufferPointer(rebasing: target[header.count...]).copyMemory(from: data)
            }
        }
    }

    func ledger(of version: ProtocolVersion) throws -> CounterLedger {
        try self.secretBytes(Name.counter).withUnsafeBytes { bytes in
            guard bytes.count > Self.counterHeaderByteCount,
                let moves = UInt64(bigEndianBytes: bytes[1..<9]),
                let confirmedMoves = UInt64(bigEndianBytes: bytes[9..<17])
            else { throw MobileTokenError.damaged(Name.counter.string) }
            let data = SecretBytes(copying: bytes[Self.counterHeaderByteCount...])
            return CounterLedger(
                counter: version.isVersion3
                    ? .version3(HashCounter(data: data, byte: bytes[17]))
                    : .version4(Version4.HashCounter(data: data, byte: bytes[17])),
                history: CounterHistory(moves: moves, confirmedMoves: confirmedMoves),
                isUnsettled: bytes[0] & 1 != 0,
                unseenSignatures: bytes[0] >> 1
            )
        }
    }
}

// A token: two bytes with the identifier's length, identifier, secret. Factors beyond possession are in the field's name, which
// earlier versions of this SDK read as the name of an unused token and keep.
extension RecordFields {
    private static func name(ofToken name: ExactString, _ factors: SignatureType) -> ExactString {
        let suffix = factors == .possession ? "" : "\(Name.factorSeparator)\(factors.rawValue)"
        return ExactString(Name.tokenPrefix + name.string + suffix)
    }

    /// Splits a field's name, without ``Name/tokenPrefix``, into a token's name and factors.
    private static func nameAndFactors(in name: ExactString) -> (name: ExactString, factors: SignatureType) {
        let scalars = name.string.unicodeScalars
        guard let separator = scalars.lastIndex(of: Name.factorSeparator),
            let factors = SignatureType(rawValue: String(scalars[scalars.index(after: separator)...]))
        else { return (name, .possession) }
        return (ExactString(String(scalars[..<separator])), factors)
    }

    private static func bytes(of token: ActivationRecord.Token) -> SecretBytes {
        let id = Array(token.id.utf8.prefix(Int(UInt16.max)))
        return token.secret.withUnsafeBytes { secret in
            SecretBytes(count: 2 + id.count + secret.count) { target in
                target.copyBytes(from: [UInt8(id.count >> 8), UInt8(id.count & 0xFF)] + id)
                UnsafeMutableRawBufferPointer(rebasing: target[(2 + id.count)...]).copyMemory(from: secret)
            }
        }
    }

    /// Returns whether there are more tokens than a record of these fields has: a lesser one gives way with the next change.
    func haveTwoTokens(for record: ActivationRecord) -> Bool {
        self.secret.keys.count { $0.string.utf8.starts(with: Name.tokenPrefix.utf8) } > record.tokens.count
    }

    private func tokens() throws -> [ExactString: ActivationRecord.Token] {
        var tokens: [ExactString: ActivationRecord.Token] = [:]
        for (name, secret) in self.secret {
            guard let field = name.dropping(prefix: Name.tokenPrefix) else { continue }
            let (tokenName, factors) = Self.nameAndFactors(in: field)
            let token = try secret.withUnsafeBytes { bytes in
                guard bytes.count >= 2 else { throw MobileTokenError.damaged(name.string) }
                let end = 2 + (Int(bytes[0]) << 8 | Int(bytes[1]))
                guard end <= bytes.count, let id = String(validating: bytes[2..<end], as: UTF8.self) else {
                    throw MobileTokenError.damaged(name.string)
                }
                return ActivationRecord.Token(id: id, secret: SecretBytes(copying: bytes[end...]), factors: factors)
            }
            // An earlier version that shares the store may have added a weaker token with the same name.
            if let other = tokens[tokenName], other.factors.isPreferred(to: factors) { continue }
            tokens[tokenName] = token
        }
        return tokens
    }
}

extension SignatureType {
    /// Returns whether a token with these factors is preferred to one with `other`.
    fileprivate func isPreferred(to other: Self) -> Bool {
        (self.factors.count, self.rawValue) > (other.factors.count, other.rawValue)
    }
}
