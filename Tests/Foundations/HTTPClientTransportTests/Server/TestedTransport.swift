import Foundation
import Testing

import HTTPClientTransport

#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTPCompression

    /// The transport over an application's client, with the settings that it shares with the other one.
    struct TestedTransport: HTTPTransport {
        static let isCurl = false

        private let client: HTTPClient
        private let transport: AsyncHTTPTransport

        init(configuration: CurlTransport.Configuration = CurlTransport.Configuration()) throws {
            var settings = HTTPClient.Configuration()
            settings.redirectConfiguration = .disallow
            settings.timeout.connect = .nanoseconds(Int64(min(1e18, configuration.connectTimeout / .nanoseconds(1))))
            settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.maximumRequestsPerHost
            settings.connectionPool.retryConnectionEstablishment = false
            settings.decompression = .enabled(limit: .size(configuration.maximumResponseSize))
            if case .url(let url) = configuration.proxy.kind, let url = URLComponents(string: url) {
                settings.proxy = .server(host: url.host ?? "", port: url.port ?? 0)
            }
            self.client = HTTPClient(configuration: settings)
            self.transport = AsyncHTTPTransport(
                client: self.client,
                timeout: configuration.timeout,
                maximumResponseSize: configuration.maximumResponseSize
            )
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await self.transport.send(request) }

        func shutdown() async { try? await self.client.shutdown() }
    }
#else
    typealias TestedTransport = CurlTransport

    extension CurlTransport {
        static let isCurl = true
    }
#endif
