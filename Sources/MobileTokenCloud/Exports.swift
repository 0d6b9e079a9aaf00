// Everything that a public declaration names can be named with `import MobileTokenCloud` alone. Each type by itself, never a
// module: names that other packages have too, such as `HTTPRequest`, must not arrive with it.
@_exported public import struct ExactJSON.JSONNumber
@_exported public import struct ExactJSON.JSONObject
@_exported public import enum ExactJSON.JSONValue
@_exported public import class HTTPClientTransport.CurlTransport
@_exported public import protocol HTTPClientTransport.HTTPTransport
@_exported public import struct HTTPClientTransport.HTTPTransportError
