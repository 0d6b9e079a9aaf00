internal import Foundation
internal import PowerAuthCrypto

/// All state of the development server, as a value. Each request is one call of a mutating function, so a request that
/// fails halfway can leave state as it was, and tests need neither clock nor socket.
struct Backend: Sendable {
    /// The application that ``Emulator/sdkConfiguration`` describes.
    private(set) var defaultApplication: ApplicationDescription

    /// - Throws: When a template of the configuration does not decode.
    init(configuration: Emulator.Configuration, randomness: Randomness) throws {
        var randomness = randomness
        let masterKey = try P256PrivateKey(scalar: SecretBytes(copying: randomness.bytes(32)))
        self.defaultApplication = ApplicationDescription(
            id: configuration.applicationID,
            key: Data(randomness.bytes(16)).base64EncodedString(),
            secret: Data(randomness.bytes(16)).base64EncodedString(),
            masterServerPublicKey: Data(masterKey.publicKey.compressed).base64EncodedString()
        )
    }

    /// Answers `/pa/v3`, `/api` and `/v2`. Anything else is 404 in the API's error shape.
    mutating func reply(to request: ReceivedRequest, at now: Date) -> Reply {
        let body = #"{"status":"ERROR","responseObject":{"code":"ERROR_NOT_FOUND","message":"No such resource"}}"#
        return Reply(status: 404, body: Array(body.utf8), verdict: .refused(reason: "no such path"))
    }

    /// Does what has become due by `now` without any request: operations, activation codes that expire.
    mutating func settle(at now: Date) -> [BackendEvent] {
        []
    }

    /// When ``settle(at:)`` will next have something to do.
    var nextDeadline: Date? {
        nil
    }

    mutating func administer(
        _ change: AdministrativeChange,
        at now: Date
    ) throws(AdministrationError) -> [BackendEvent] {
        throw AdministrationError(code: .unknownActivation, message: "No such activation")
    }

    /// The whole state, the application's keys included, as one JSON document.
    func exported() throws -> [UInt8] {
        Array("{}".utf8)
    }

    /// A backend with the state of an exported document.
    init(importing document: [UInt8], configuration: Emulator.Configuration) throws(AdministrationError) {
        throw AdministrationError(code: .invalidDocument, message: "Not a document of this server")
    }

    /// What the console and ``Emulator`` show, newest first.
    var activations: [Emulator.ActivationSummary] {
        []
    }

    /// What the console and ``Emulator`` show, newest first.
    var operations: [Emulator.OperationSummary] {
        []
    }

    /// What an operation can be made from, by name.
    var templates: [Emulator.TemplateSummary] {
        []
    }
}
