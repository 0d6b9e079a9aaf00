import HTTPClientTransport
import OtherTypes

let otherTypes: [Any.Type] = [Endpoint.self, FormData.self, Empty.self]

/// A transport of the user's own, in a file that has other types of the same names.
struct OwnTransport: HTTPTransport {
    func send(
        _ request: HTTPClientTransport.HTTPRequest
    ) async throws -> HTTPClientTransport.HTTPResponse {
        guard request.method == HTTPClientTransport.HTTPRequest.Method.post else {
            throw HTTPTransportError(HTTPTransportError.Code.invalidRequest)
        }
        let field = HTTPClientTransport.HTTPHeaders.Field(name: "Content-Type", value: "application/json")
        return HTTPClientTransport.HTTPResponse(status: 200, headers: HTTPClientTransport.HTTPHeaders([field]))
    }
}

let ownTypes: [Any.Type] = [OtherTypes.HTTPRequest.self, OtherTypes.HTTPResponse.self, OtherTypes.HTTPHeaders.self]

let transportTypes: [Any.Type] = [
    (any HTTPTransport).self, HTTPTransportError.self, HTTPTransportError.Code.self, CurlTransport.self,
    CurlTransport.Configuration.self, CurlTransport.UserAgent.self,
    CurlTransport.Proxy.self, CurlTransport.TLS.self, CurlTransport.Validation.self,
    CurlTransport.ClientCertificate.self,
]

func transport(pin: String) throws -> any HTTPTransport {
    var configuration = CurlTransport.Configuration()
    configuration.tls.pinnedPublicKeys = [pin]
    return try CurlTransport(configuration: configuration)
}
