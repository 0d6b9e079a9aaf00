import CloudCalls
import ExactJSON
public import Foundation

extension CloudClient {
    /// An operation to be created: the question that a user is to decide.
    public struct NewOperation: Sendable, Hashable {
        /// The template of the operation at the server.
        public var template: String
        /// The user who is to decide; `nil` leaves it to whoever claims the operation first.
        public var userID: String?
        /// The values of the template's placeholders. Real servers take strings alone, and silently drop those that no placeholder
        /// names.
        public var parameters: [String: String] = [:]
        /// The language of what is pushed, such as `cs`; the server's own by default.
        public var language: String?
        /// An identifier of the caller's own. It need not be unique, and the server cannot be searched by it.
        public var externalID: String?
        /// The flag that an activation must have to see and decide the operation; none by default.
        public var flag: String?
        /// The moment until which it can be decided, in milliseconds; by default the template says it.
        public var expires: Date?
        /// Indicates whether an approval must carry a one-time code that is shown beside; by default the template says it.
        public var demandsProximityCheck: Bool?
        /// Indicates whether nothing is pushed; `false` by default.
        public var isSilent: Bool?
        /// The application, where the credentials do not say it.
        public var applicationID: String?

        /// Creates an operation of a template.
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

extension CloudClient.NewOperation: CustomStringConvertible, CustomReflectable {
    /// The template alone.
    public var description: String { "NewOperation of \(self.template)" }
    /// Empty, so that `dump` reveals no parameters.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
