import Foundation
import HTTPClientTransport

#if Tracing
    import Tracing
#endif

extension ServerConnection {
    /// Sends a request in a span of its own, where the trait `Tracing` is on.
    ///
    /// The span is named by the method alone: the path of an endpoint of one's own may hold an identifier.
    func sendTraced(_ request: HTTPRequest, for activationID: String?) async throws -> HTTPResponse {
        #if Tracing
            try await self.configuration.tracer.withAnySpan(request.method.rawValue, ofKind: .client) { span in
                span.describe(request, of: activationID)
                var request = request
                if self.configuration.sendsTraceContext {
                    self.configuration.tracer.inject(span.context, into: &request.headers, using: HeaderInjector())
                }
                let response = try await self.transport.send(request)
                span.attributes["http.response.status_code"] = response.status
                if response.status >= 400 {
                    span.attributes["error.type"] = "\(response.status)"
                    span.setStatus(SpanStatus(code: .error))
                }
                return response
            }
        #else
            try await self.transport.send(request)
        #endif
    }
}

#if Tracing
    extension Span {
        fileprivate func describe(_ request: HTTPRequest, of activationID: String?) {
            guard self.isRecording else { return }
            if let activationID { self.attributes["mobile_token.activation"] = activationID }
            self.attributes["http.request.method"] = request.method.rawValue
            // Not the query, which may be secret.
            guard var url = URLComponents(string: request.url) else { return }
            (url.query, url.fragment) = (nil, nil)
            self.attributes["url.full"] = url.string
            self.attributes["server.address"] = url.host
            self.attributes["server.port"] = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
        }
    }

    private struct HeaderInjector: Injector {
        func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) { headers[key] = value }
    }
#endif
