// The activation, its store and its errors are part of what this module offers, so its users need no second import.
@_exported public import PowerAuth
@_exported public import enum PowerAuthProtocol.JSONValue
@_exported public import struct PowerAuthProtocol.JSONError
@_exported public import struct PowerAuthProtocol.JSONLimits
@_exported public import struct PowerAuthProtocol.JSONNumber
@_exported public import struct PowerAuthProtocol.JSONObject
