// The types that the declarations of this module name, so that nothing else has to be imported to use them.
@_exported public import struct PowerAuth.DecisionIntent
@_exported public import struct PowerAuth.MobileTokenError
@_exported public import struct PowerAuth.ReceiptSelection
