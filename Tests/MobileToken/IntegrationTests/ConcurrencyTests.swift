import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import TestSupport
import Testing

/// Many tasks, many activations, and two owners of one store.
@Suite(.timeLimit(.minutes(5))) struct ConcurrencyTests {
    @Test func aHundredApprovalsAreServedOneAfterTheOther() async throws {
        try await withEmulator { emulator in
            let inFlight = Shared((now: 0, most: 0))
            let client = try emulator.makeClient {
                $0.transport = try InterceptingTransport { request, deliver in
                    guard request.isSigned else { return try await deliver(request) }
                    inFlight.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    defer { inFlight.update { $0.now -= 1 } }
                    return try await deliver(request)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            for _ in 0..<100 { _ = try await emulator.cloud.createOperation("login", userID: "alice") }
            let operations = try await service.operations()
            #expect(operations.count == 100)
            let position = await emulator.journalPosition

            try await withThrowingTaskGroup { group in
                for operation in operations {
                    group.addTask { _ = try await service.authorize(operation, with: .twoFactors) }
                }
                try await group.waitForAll()
            }
            let signed = await emulator.signedRequests(of: activation, since: position)
            #expect(signed.count == 100)
            #expect(signed.refusals == [])
            #expect(signed.areConsecutive)
            #expect(inFlight.value.most == 1)
            #expect(try await service.operations() == [])
            #expect(await emulator.operations().allSatisfy { $0.status == .approved })
        }
    }

    @Test func twoHundredServicesShareATransportWithFewConnections() async throws {
        try await withEmulator { emulator in
            let connections = Shared<[Int]>([])
            var configuration = CurlTransport.Configuration()
            configuration.maximumRequestsPerHost = 8
            configuration.timeout = .seconds(200)  // a busy machine may take long over so many
            let curl = try CurlTransport(configuration: configuration)
            let port = emulator.port
            let client = try emulator.makeClient {
                $0.transport = try InterceptingTransport(base: curl) { request, deliver in
                    let response = try await deliver(request)
                    if request.url.hasSuffix("/operation/list") {
                        let count = try connectionCount(to: port)
                        connections.update { $0.append(count) }
                    }
                    return response
                }
            }
            let services = try await withThrowingTaskGroup(of: (String, OperationsService).self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let user = "user \(number)"
                        let activation = try await emulator.makeActivation(
                            user: user,
                            password: password,
                            client: client
                        )
                        let operation = try await emulator.cloud.createOperation("login", userID: user)
                        return (operation.id, client.makeOperationsService(for: activation))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try await withThrowingTaskGroup { group in
                for (expected, service) in services {
                    group.addTask {
                        let list = try await service.operations()
                        #expect(list.map(\.id) == [expected])
                    }
                }
                try await group.waitForAll()
            }
            #expect(connections.value.count == 200)
            #expect((1...8).contains(connections.value.max() ?? 0))
            await curl.shutdown()
        }
    }

    @Test func twoOwnersOfOneStoreSignInTurn() async throws {
        let folder = try TemporaryFolder()
        try await withEmulator { emulator in
            let stores = (0..<2).map { _ in ActivationStore.sqlite(path: folder.path + "/activations.sqlite") }
            let clients = try stores.map { store in try emulator.makeClient { $0.store = store } }
            let first = try await emulator.makeActivation(user: "alice", password: password, client: clients[0])
            let second = try await clients[1].activation(id: first.activationID)
            for _ in 0..<5 {
                for activation in [first, second] { try await activation.validate(.twoFactors) }
            }
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    let activation = number.isMultiple(of: 2) ? first : second
                    group.addTask { try await activation.validate(.twoFactors) }
                }
                try await group.waitForAll()
            }
            let signed = await emulator.signedRequests(of: first)
            #expect(signed.count == 30)
            #expect(signed.refusals == [])
            #expect(signed.areConsecutive)
            for store in stores { await store.close() }
        }
    }
}

/// Returns the number of this machine's connections to a port of the loopback interface, as the kernel counts them.
private func connectionCount(to port: UInt16) throws -> Int {
    // Not read at one go: files of the kernel have no size.
    let file = try #require(FileHandle(forReadingAtPath: "/proc/self/net/tcp"))
    let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    let remote = "0100007F:" + String(format: "%04X", Int(port))
    // By our own addresses: the kernel may show a connection twice when others come and go while it is read.
    let ours = table.split(separator: "\n").dropFirst().compactMap { line -> Substring? in
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        return fields.count > 3 && fields[2] == remote && fields[3] == "01" ? fields[1] : nil
    }
    return Set(ours).count
}
