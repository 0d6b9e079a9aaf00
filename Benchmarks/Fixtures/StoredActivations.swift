import Basics
import Foundation
import MobileToken
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// Activations that were made earlier, with the token that polls need, so that a server which knows nobody can be polled.
struct StoredActivations {
    let store: ActivationStore
    let sdkConfiguration: SDKConfiguration
    let ids: [String]

    init(count: Int, in store: ActivationStore = ActivationStore.inMemory()) async throws {
        self.store = store
        let applicationKey = Base64.encode(SecureRandom.bytes(16))
        let secret = try unwrap(ApplicationSecret(bytes: SecureRandom.secret(16)))
        let key = P256PrivateKey.generate().publicKey
        self.sdkConfiguration = SDKConfiguration(
            applicationKey: applicationKey,
            applicationSecret: secret,
            masterPublicKey: key
        )
        self.ids = (0..<count).map { "f48ae8c3-3e0d-4b0a-8b8d-\(100_000_000_000 + $0)" }
        let ids = self.ids
        // Side by side, so that a durable store commits many of them at once.
        try await inParallel(inFlight) { lane in
            for index in stride(from: lane, to: ids.count, by: inFlight) {
                try await store.insert(try Self.record(ids[index], applicationKey, key))
            }
        }
    }

    private static func record(
        _ id: String,
        _ applicationKey: String,
        _ key: P256PublicKey
    ) throws -> ActivationRecord {
        ActivationRecord(
            activationID: id,
            name: nil,
            applicationKey: applicationKey,
            createdAt: .now,
            keys: .version3(
                Version3Keys(
                    version: .v3_3,
                    devicePublicKey: key.compressed,
                    serverPublicKey: key.compressed,
                    possessionKey: SecureRandom.secret(16),
                    transportKey: StatusAnswer.transportKey,
                    encryptedKnowledgeKey: SecureRandom.secret(16),
                    knowledgeSalt: SecureRandom.bytes(16),
                    encryptedDevicePrivateKey: SecureRandom.secret(48)
                )
            ),
            counter: .version3(StatusAnswer.counter),
            tokens: ["possession_universal": .init(id: id, secret: SecureRandom.secret(16))]
        )
    }

    /// A client that finds them at this server.
    func client(
        of server: StaticServerProcess,
        in store: ActivationStore? = nil,
        observer: (any MobileTokenObserver)? = nil
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store ?? self.store
        configuration.observer = observer
        return try MobileTokenClient(
            baseURL: server.baseURL,
            sdkConfiguration: self.sdkConfiguration,
            configuration: configuration
        )
    }
}
