package import Basics
package import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

/// The durable state of one activation: everything a process needs to go on signing after a restart.
///
/// Nothing here can unlock the knowledge factor without the password, or the device's private key without the vault.
/// A store keeps a record in the form that ``Sealing`` gives it.
package struct ActivationRecord: Sendable, Equatable {
    /// The server's identifier of the activation.
    package let activationID: String
    /// The name the activation was created with.
    package internal(set) var name: String?
    /// The time when the activation was made, by the local clock.
    package let createdAt: Date

    package let applicationKey: String
    /// The part that depends on the version of the protocol.
    package var keys: VersionedKeys

    /// The counter that signs, and what is known about it.
    package var ledger: CounterLedger

    /// Tokens by name.
    package var tokens: [ExactString: Token]

    package init(
        activationID: String,
        name: String?,
        applicationKey: String,
        createdAt: Date,
        keys: VersionedKeys,
        counter: SigningCounter,
        history: CounterHistory = CounterHistory(),
        isUnsettled: Bool = false,
        tokens: [ExactString: Token] = [:]
    ) {
        self.activationID = activationID
        self.name = name
        self.applicationKey = applicationKey
        self.createdAt = createdAt
        self.keys = keys
        self.ledger = CounterLedger(counter: counter, history: history, isUnsettled: isUnsettled)
        self.tokens = tokens
    }

    /// A token as the server handed it out.
    package struct Token: Sendable, Equatable {
        package let id: String
        package let secret: SecretBytes
        /// The factors that it was made with, and vouches for.
        package var factors: SignatureType

        package init(id: String, secret: SecretBytes, factors: SignatureType = .possession) {
            self.id = id
            self.secret = secret
            self.factors = factors
        }
    }
}

extension ActivationRecord {
    /// The moves of the counter since the activation was made: the number by which a receipt knows its signature.
    package var counterMoves: UInt64 { self.history.moves }

    /// The version of the protocol that the activation speaks.
    package var version: ProtocolVersion { self.keys.version }

    /// Indicates that the activation is being upgraded to another version of the protocol, or that whoever did so died on the way. Until it
    /// has ended, the server is asked for nothing else.
    package var isUpgrading: Bool {
        switch self.keys {
        case .version3(let keys): keys.isUpgrading
        case .version4(let keys): keys.isUpgradeUnconfirmed
        }
    }

    package var counter: SigningCounter {
        get { self.ledger.counter }
        set { self.ledger.counter = newValue }
    }

    package var history: CounterHistory { self.ledger.history }

    package var isUnsettled: Bool {
        get { self.ledger.isUnsettled }
        set { self.ledger.isUnsettled = newValue }
    }
}

extension ActivationRecord: CustomStringConvertible {
    /// The identifier alone.
    package var description: String { "activation \(self.activationID)" }
}
