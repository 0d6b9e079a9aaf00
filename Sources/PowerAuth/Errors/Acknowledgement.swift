import Basics
import ExactJSON

/// The answer to a request that asks for no more than success.
enum Acknowledgement {
    /// A member of `responseObject` that repeats whom the request was about. Servers may leave it out.
    struct Subject: Sendable {
        let member: String
        let value: String
    }

    /// Throws unless a response is the server's word that it did what it was asked: JSON whose `status` is `OK`, about the right
    /// subject. A page of some proxy comes under 200 as often as not.
    ///
    /// Anybody on the way can write as much. What must not be believed wrongly is asked for in an encrypted status as well.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse``.
    static func check(_ response: ChannelResponse, of path: String, about subject: Subject? = nil) throws {
        try response.mappingErrors {
            guard let root = Self.successRoot(of: response) else {
                throw MobileTokenError.invalidResponse("The response to \(path) does not say that it was done")
            }
            guard let subject, let repeated = root["responseObject"]?[subject.member], !repeated.isNull else { return }
            guard repeated.string?.isExactly(subject.value) == true else {
                throw MobileTokenError.invalidResponse("The response to \(path) is about something else")
            }
        }
    }

    /// Returns whether a response is JSON whose `status` is `OK`.
    static func isOK(_ response: ChannelResponse) -> Bool { Self.successRoot(of: response) != nil }

    private static func successRoot(of response: ChannelResponse) -> JSONView? {
        guard let root = try? JSONDocument(parsing: response.bytes).root else { return nil }
        return root["status"]?.string?.isExactly("OK") == true ? root : nil
    }
}
