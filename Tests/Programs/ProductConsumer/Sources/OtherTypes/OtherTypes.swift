// Names that other packages give to types of theirs.

/// A request.
public struct HTTPRequest {}

/// A response.
public struct HTTPResponse {}

/// Header fields.
public struct HTTPHeaders {}

/// An endpoint.
public struct Endpoint {}

/// The data of a form.
public struct FormData {}

/// Nothing.
public struct Empty {}

/// A type of a user's model. By its member, no other type of its name passes for it.
public protocol Own {}

extension Own {
    /// Always true.
    public static var isOwn: Bool { true }
}

/// A type of a user's model.
public struct Action: Own {}
/// A type of a user's model.
public struct Approval: Own {}
/// A type of a user's model.
public struct Authentication: Own {}
/// A type of a user's model.
public struct Clock: Own {}
/// A type of a user's model.
public struct Decision: Own {}
/// A type of a user's model.
public struct EmptyBody: Own {}
/// A type of a user's model.
public struct JSONError: Own {}
/// A type of a user's model.
public struct JSONNumber: Own {}
/// A type of a user's model.
public struct JSONObject: Own {}
/// A type of a user's model.
public struct JSONValue: Own {}
/// A type of a user's model.
public struct Logger: Own {}
/// A type of a user's model.
public struct Observed: Own {}
/// A type of a user's model.
public struct Operation: Own {}
/// A type of a user's model.
public struct Parameter: Own {}
/// A type of a user's model.
public struct Person: Own {}
/// A type of a user's model.
public struct Request: Own {}
/// A type of a user's model.
public struct Settlement: Own {}
