import Basics
import ExactJSON

/// A bare success response.
enum Acknowledgement {
    /// A member of `responseObject` that identifies the subject.
    struct Subject: Sendable {
        let member: String
        let value: String
    }

    /// Throws unless the response is JSON with the `status` `OK` and the right subject. Proxies often send their pages with 200.
    /// An attacker could forge this. Callers that need certainty also fetch the encrypted status.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse``.
    static func check(_ response: ServerResponse, of path: String, about subject: Subject? = nil) throws {
        try response.mappingErrors {
            guard let root = Self.successRoot(of: response) else {
                throw MobileTokenError.invalidResponse("The response to \(path) does not say that it was done")
            }
            guard let subject else { return }
            guard root["responseObject"]?[subject.member]?.string?.isExactly(subject.value) == true else {
                throw MobileTokenError.invalidResponse("The response to \(path) is about something else")
            }
        }
    }

    static func isOK(_ response: ServerResponse) -> Bool { Self.successRoot(of: response) != nil }

    private static func successRoot(of response: ServerResponse) -> JSONView? {
        guard let root = try? JSONDocument(parsing: response.bytes).root else { return nil }
        return root["status"]?.string?.isExactly("OK") == true ? root : nil
    }
}
