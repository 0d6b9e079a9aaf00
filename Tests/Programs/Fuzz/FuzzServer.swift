import Dispatch
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto
import Synchronization

@testable import EmulatorBackend
@testable import EmulatorHTTP
@testable import MobileTokenEmulator

/// A development server that is the same in every run.
enum FuzzServer {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static let configuration: Emulator.Configuration = {
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword, configuration.seed) = ("a", "b", 1)
        // A target must not fill the memory, only try to.
        configuration.capacity.storedBytes = 1 << 20
        return configuration
    }()

    /// With a registration that waits for its device.
    static let backend: Backend = {
        guard
            var backend = try? Backend(configuration: Self.configuration.backend, randomness: SeededRandomness(seed: 1))
        else {
            fatalError("the server does not start")
        }
        _ = backend.cloud("POST", "/v2/registrations", ["userId": "alice"])
        _ = backend.cloud("POST", "/v2/operations", ["template": "login", "userId": "alice"])
        return backend
    }()

    /// With a device of Alice's that has a token.
    static let withDevice: (backend: Backend, device: FuzzDevice) = {
        var backend = Self.backend
        var device = FuzzDevice(backend.defaultApplication)
        do { try device.activate(on: &backend) } catch { fatalError("the device does not activate: \(error)") }
        return (backend, device)
    }()

    // MARK: The whole server

    private static let requestsPerReset = 256
    private static let count = Mutex(0)

    private static let core: EmulatorCore = {
        guard let core = try? EmulatorCore(configuration: Self.configuration) else {
            fatalError("the server does not start")
        }
        return core
    }()

    /// Answers a request as the server would, without a socket, and returns the status.
    static func site(_ request: ReceivedRequest) -> Int {
        // News that was asked for would be waited for, up to a minute.
        guard !request.query.contains(where: { $0.name == "wait" }) else { return 200 }
        let isFirst = Self.count.withLock { count in
            count += 1
            return count % Self.requestsPerReset == 1
        }
        var request = request
        if request.header("Host") == nil { request.headers.append(("Host", "127.0.0.1")) }
        let address = ServerAddress(port: 80, isLoopback: true, origin: "http://127.0.0.1")
        let sent = request
        return
            (try? Self.waiting {
                if isFirst { try? await Self.core.reset() }
                let response = await ControlAPI(core: Self.core, address: address).respond(to: sent)
                // A delay that was asked for would only be waited for.
                await Self.core.setFaults([])
                return response.status
            }) ?? 0
    }

    /// Returns what is asynchronous, for libFuzzer waits for its callback.
    static func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task {
            let end: Result<Value, any Error>
            do { end = .success(try await body()) } catch { end = .failure(error) }
            result.withLock { $0 = end }
            done.signal()
        }
        done.wait()
        guard let end = result.withLock({ $0 }) else { fatalError("the task has not ended") }
        return try end.get()
    }
}

extension Backend {
    /// A call of the cloud API with the right credentials.
    mutating func cloud(_ method: String, _ path: String, _ body: JSONValue? = nil) -> Reply {
        var request = ReceivedRequest(method: method, path: path)
        request.headers = [("Authorization", "Basic YTpi"), ("Content-Type", "application/json")]
        request.body = body?.serialized() ?? []
        return self.reply(to: request, at: FuzzServer.now)
    }
}

extension Reply {
    /// The body as JSON; null when it is none.
    var json: JSONValue { (try? JSONValue(parsing: self.body)) ?? .null }

    var code: String? { self.json["responseObject"]?["code"]?.string }
}
