package import Basics
package import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

/// The durable state of one activation: everything that signing needs after a restart. It cannot unlock the knowledge factor
/// without the password, or the device's private key without the vault. ``Sealing`` encrypts it for the store.
package struct ActivationRecord: Sendable, Equatable {
    package let activationID: String
    package internal(set) var name: String?
    /// The time of creation by the local clock.
    package let createdAt: Date

    package let applicationKey: String
    /// The version-specific part.
    package var keys: VersionedKeys

    package var ledger: CounterLedger

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
        unseenSignatures: UInt8 = 0,
        tokens: [ExactString: Token] = [:]
    ) {
        self.activationID = activationID
        self.name = name
        self.applicationKey = applicationKey
        self.createdAt = createdAt
        self.keys = keys
        self.ledger = CounterLedger(
            counter: counter,
            history: history,
            isUnsettled: isUnsettled,
            unseenSignatures: unseenSignatures
        )
        self.tokens = tokens
    }

    package struct Token: Sendable, Equatable {
        package let id: String
        package let secret: SecretBytes
        /// The factors that the token was created with and proves.
        package var factors: SignatureType

        package init(id: String, secret: SecretBytes, factors: SignatureType = .possession) {
            self.id = id
            self.secret = secret
            self.factors = factors
        }
    }
}

extension ActivationRecord {
    /// The counter moves since activation, which identify a signature in receipts.
    package var counterMoves: UInt64 { self.history.moves }

    package var version: ProtocolVersion { self.keys.version }

    /// Indicates an upgrade in progress, or one that its process did not finish. Until it ends, no other requests are sent.
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
    /// The identifier only.
    package var description: String { "activation \(self.activationID)" }
}
