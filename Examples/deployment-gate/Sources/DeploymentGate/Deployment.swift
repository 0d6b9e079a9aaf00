public import ExactJSON
import MobileTokenApprovals

/// A deployment that somebody wants.
public struct Deployment: Sendable, Hashable {
    /// The service, in letters, digits and dashes: it becomes the name of a file.
    public let service: String
    /// The version, which the approvers see.
    public let version: String
    /// The manifest, as the target gets it.
    public let manifest: String

    /// Creates a deployment.
    ///
    /// - Throws: ``GateError`` for a service or a version that a person could misread, or a path could be made of.
    public init(service: String, version: String, manifest: String) throws {
        guard Self.isName(service, "-"), Self.isName(version, ".-+"), service.utf8.first != UInt8(ascii: "-") else {
            throw GateError("a service has letters, digits and dashes; a version also dots and +")
        }
        (self.service, self.version, self.manifest) = (service, version, manifest)
    }

    /// Reads a deployment from JSON: what an agent has sent, or what was approved.
    public init(_ json: JSONValue) throws {
        guard let service = json["service"]?.string, let version = json["version"]?.string,
            let manifest = json["manifest"]?.string, json.object?.members.count == 3
        else { throw GateError("a deployment is an object of service, version and manifest") }
        try self.init(service: service, version: version, manifest: manifest)
    }

    /// The deployment as JSON: the bytes that are approved are made of it.
    public var json: JSONValue {
        ["service": .string(self.service), "version": .string(self.version), "manifest": .string(self.manifest)]
    }

    private static func isName(_ string: String, _ others: String) -> Bool {
        (1...64).contains(string.utf8.count)
            && string.unicodeScalars.allSatisfy { scalar in
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                    || others.unicodeScalars.contains(scalar)
            }
    }
}

/// The reason why the gate does nothing.
public struct GateError: Error, Sendable, CustomStringConvertible {
    /// A sentence for a person.
    public let description: String

    init(_ description: String) { self.description = description }
}
