// The activation, its store and its errors are part of what this module offers, so its users need no second import.
@_exported public import PowerAuth
@_exported public import enum ExactJSON.JSONValue
@_exported public import struct ExactJSON.JSONError
@_exported public import struct ExactJSON.JSONLimits
@_exported public import struct ExactJSON.JSONNumber
@_exported public import struct ExactJSON.JSONObject
