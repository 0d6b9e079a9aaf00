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
