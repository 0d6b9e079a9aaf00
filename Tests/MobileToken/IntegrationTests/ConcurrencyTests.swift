import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// Many tasks, many activations, and two owners of one store.
@Suite(.timeLimit(.minutes(5))) struct ConcurrencyTests {
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
