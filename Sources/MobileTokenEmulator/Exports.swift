// The parts of the configuration that the backend reads too.
@_exported public import struct EmulatorBackend.EmulatorCapacity
@_exported public import struct EmulatorBackend.EmulatorLimits

// Parameters of operations are JSON values, so users of this module need no second import.
@_exported public import struct ExactJSON.JSONNumber
@_exported public import struct ExactJSON.JSONObject
@_exported public import enum ExactJSON.JSONValue
