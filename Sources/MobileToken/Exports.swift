// The activation, its store and its errors are part of what this module offers, so its users need no second import.
@_exported public import PowerAuth
