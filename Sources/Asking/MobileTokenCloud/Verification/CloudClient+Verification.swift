package import APIDescriptions
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
        /// The body in Base64.
        package var encodedBody: String?
        /// The query parameters of a GET; `nil` for other methods.
        public var query: [String: String]?

        /// The request's body, byte for byte; `nil` for GET.
        public var body: [UInt8]? {
            get { self.encodedBody.flatMap { Data(base64Encoded: $0) }.map { Array($0) } }
            set { self.encodedBody = newValue.map { Data($0).base64EncodedString() } }
        }

        /// The method and the endpoint.
        public var description: String { "\(self.method.rawValue) \(self.uriID)" }
    }

    /// Verifies the authentication code of a device's request to the back end. A code is valid once.
    ///
    /// With ``CloudError/isOutcomeUnknown``, the server may have consumed the code, or counted a wrong one.
    ///
    /// - Throws: ``CloudError/Code/malformedSignature`` for a malformed header.
    public func verify(_ request: SignedRequest) async throws -> CloudResponse<Verdict> {
        try await self.call(CloudAPI.verifySignature, request)
    }

    /// Verifies the token of a device's request to the back end.
    ///
    /// - Parameter header: The value of `X-PowerAuth-Token`.
    /// - Throws: ``CloudError/Code/malformedToken`` for a malformed header.
    public func verify(token header: String) async throws -> CloudResponse<Verdict> {
        try await self.call(CloudAPI.verifyToken, header)
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
        let offline = CloudAPI.TypedOfflineCode(code: code, nonce: nonce, registrationID: registrationID)
        return try await self.call(CloudAPI.verifyOfflineCode, (operationID, offline))
    }
}

extension CloudClient.SignedRequest: Described {
    package static let fields = FieldTable(
        "CodeToVerify",
        Self.init(method:uriID:header:encodedBody:query:),
        .required("method", \.method, .cases(of: [.get, .post, .put, .delete]), "The method of the device's request."),
        .required("uriId", \.uriID, .word, "The name of the endpoint for the bank and the device."),
        .required(
            "authHeader",
            \.header,
            .word,
            "The value of X-PowerAuth-Authorization.",
            example: """
                PowerAuth pa_activation_id="0f038bac-6c94-45eb-b3a9-f92e809e8ea4", \
                pa_application_key="MDEyMzQ1Njc4OWFiY2RlZg==", pa_nonce="kYjzVBB8Y0ZFabxSWbWovQ==", \
                pa_signature_type="possession_knowledge", \
                pa_signature="MTIzNDU2Nzg5MDEyMzQ1NjEyMzQ1Njc4OTAxMjM0NTY=", pa_version="3.3"
                """
        ),
        .optional("requestBody", \.encodedBody, .base64, "The body, byte for byte; not of GET."),
        .optional("queryParams", \.query, .strings, "The query of GET.")
    ).tolerant
}

extension CloudClient.SignedRequest {
    /// Creates the description of a request.
    public init(
        _ method: Method,
        uriID: String,
        header: String,
        body: [UInt8]? = nil,
        query: [String: String]? = nil
    ) {
        (self.method, self.uriID, self.header, self.query) = (method, uriID, header, query)
        self.body = body
    }
}
