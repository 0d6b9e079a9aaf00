import CloudCalls
import Foundation

extension CloudClient {
    /// The authenticated parts of a device's request to the back end.
    public struct SignedRequest: Sendable, CustomStringConvertible {
        /// The HTTP methods that a code supports.
        public enum Method: String, Sendable, Hashable {
            /// GET.
            case get = "GET"
            /// POST.
            case post = "POST"
            /// PUT.
            case put = "PUT"
            /// DELETE.
            case delete = "DELETE"
        }

        /// The method of the request.
        public var method: Method
        /// The endpoint's identifier shared with the device, such as `/transfer`.
        public var uriID: String
        /// The value of the request's header `X-PowerAuth-Authorization`.
        public var header: String
        /// The request's body, byte for byte; `nil` for GET.
        public var body: [UInt8]?
        /// The query parameters of a GET; `nil` for other methods.
        public var query: [String: String]?

        /// Creates the description of a request.
        public init(
            _ method: Method,
            uriID: String,
            header: String,
            body: [UInt8]? = nil,
            query: [String: String]? = nil
        ) {
            (self.method, self.uriID, self.header) = (method, uriID, header)
            (self.body, self.query) = (body, query)
        }

        /// The method and the endpoint.
        public var description: String { "\(self.method.rawValue) \(self.uriID)" }

        var wire: CloudAPI.CodeToVerify {
            let method: CloudAPI.CodeToVerify.Method =
                switch self.method {
                case .get: .get
                case .post: .post
                case .put: .put
                case .delete: .delete
                }
            return CloudAPI.CodeToVerify(
                method: method,
                uriID: self.uriID,
                header: self.header,
                body: self.body.map { Data($0).base64EncodedString() },
                query: self.query
            )
        }
    }

    /// Verifies the authentication code of a device's request to the back end. A code is valid once.
    ///
    /// With ``CloudError/isOutcomeUnknown``, the server may have consumed the code, or counted a wrong one.
    ///
    /// - Throws: ``CloudError/Code/malformedSignature`` for a malformed header.
    public func verify(_ request: SignedRequest) async throws -> CloudResponse<Verdict> {
        try await self.call(CloudAPI.verifySignature, request.wire) { Verdict($0) }
    }

    /// Verifies the token of a device's request to the back end.
    ///
    /// - Parameter header: The value of `X-PowerAuth-Token`.
    /// - Throws: ``CloudError/Code/malformedToken`` for a malformed header.
    public func verify(token header: String) async throws -> CloudResponse<Verdict> {
        try await self.call(CloudAPI.verifyToken, header) { Verdict($0) }
    }

    /// Decides a pending operation with the code that the user copied from a device without a network.
    ///
    /// - Parameters:
    ///   - code: The digits on the device, with their dash.
    ///   - nonce: The ``OfflineCode/nonce`` of the QR code.
    ///   - operationID: The operation's identifier.
    ///   - registrationID: The registration of the device.
    /// - Throws: ``CloudError/Code/malformedOfflineCode``, ``CloudError/Code/operationNotChangeable``.
    public func verify(
        offlineCode code: String,
        nonce: String,
        operation operationID: String,
        registration registrationID: String
    ) async throws -> CloudResponse<Verdict> {
        let offline = CloudAPI.OfflineCode(code: code, nonce: nonce, registrationID: registrationID)
        return try await self.call(CloudAPI.verifyOfflineCode, (operationID, offline)) { Verdict($0) }
    }
}
