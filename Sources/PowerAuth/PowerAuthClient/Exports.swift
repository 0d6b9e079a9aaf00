// Errors are seen wherever the client is.
@_exported public import MobileTokenErrors
