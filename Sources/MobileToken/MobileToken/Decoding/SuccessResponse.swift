import Basics
package import ExactJSON
package import MobileTokenErrors
import PowerAuthClient

/// The envelope of a successful response: `{"status":"OK","responseObject":…}`. Errors are handled before.
package struct SuccessResponse {
    let root: JSONView

    package init(parsing bytes: [UInt8]) throws(MobileTokenError) {
        do {
            self.root = try JSONDocument(parsing: bytes, limits: Self.limits).root
        } catch {
            throw .unreadableResponse("The response is not JSON", underlying: error)
        }
        guard let status = self.root["status"]?.string, status.isExactly("OK") else {
            throw .unreadableResponse("The response is not a success")
        }
    }

    /// An 8 MB list of real operations has about 700 000 values; `0,0,…` would have four million.
    private static let limits = JSONLimits(maximumValueCount: 1 << 20)

    package var responseObject: JSONView? { self.root["responseObject"] }

    /// Reads the response's required object.
    package func read<Value>(
        _ what: String,
        _ body: (JSONView, inout IssueLog) throws(DecodingIssue) -> Value
    ) throws(MobileTokenError) -> Value {
        var log = IssueLog()
        do throws(DecodingIssue) {
            let object = try self.root.required("responseObject", .object, log)
            return try log.inside("responseObject") { log throws(DecodingIssue) in try body(object, &log) }
        } catch {
            throw .unreadableResponse("The \(what) cannot be read: \(error)", underlying: error)
        }
    }
}

extension MobileTokenError {
    package static func unreadableResponse(_ message: String, underlying: (any Error)? = nil) -> Self {
        Self(.invalidResponse, message, underlying: underlying)
    }
}
