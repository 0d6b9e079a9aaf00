// Parameters of operations are JSON values, so users of this module need no second import.
@_exported public import struct PowerAuthProtocol.JSONNumber
@_exported public import struct PowerAuthProtocol.JSONObject
@_exported public import enum PowerAuthProtocol.JSONValue
