import CloudCalls
import ExactJSON
public import Foundation

extension CloudClient {
    /// An operation to create: the user's decision that is requested.
    public struct NewOperation: Sendable, Hashable {
        /// The operation's template at the server.
        public var template: String
        /// The deciding user; `nil` for the first user who claims the operation.
        public var userID: String?
        /// The values of the template's placeholders. Real servers accept only strings, and silently drop values without a
        /// placeholder.
        public var parameters: [String: String] = [:]
        /// The language of the push message, such as `cs`. Default: the server's.
        public var language: String?
        /// The caller's identifier. It need not be unique, and the server cannot search for it.
        public var externalID: String?
        /// The activation flag required for seeing and deciding the operation. Default: none.
        public var flag: String?
        /// The deadline for the decision, in milliseconds. Default: the template's.
        public var expires: Date?
        /// Requires a one-time code, displayed elsewhere, in the approval. Default: the template's.
        public var demandsProximityCheck: Bool?
        /// Suppresses the push message. Default: `false`.
        public var isSilent: Bool?
        /// The application, if the credentials do not determine it.
        public var applicationID: String?

        /// Creates an operation from a template.
        public init(template: String, userID: String?, parameters: [String: String] = [:]) {
            self.template = template
            self.userID = userID
            self.parameters = parameters
        }

        var wire: NewCloudOperation {
            var wire = NewCloudOperation(userID: self.userID)
            wire.template = self.template
            wire.parameters = self.parameters.mapValues { .string($0) }
            wire.language = self.language
            wire.externalID = self.externalID
            wire.flag = self.flag
            wire.expires = self.expires?.milliseconds
            wire.demandsProximityCheck = self.demandsProximityCheck
            wire.isSilent = self.isSilent
            wire.applicationID = self.applicationID
            return wire
        }
    }
}

extension CloudClient.NewOperation: CustomStringConvertible {
    /// The template only.
    public var description: String { "NewOperation of \(self.template)" }
}
