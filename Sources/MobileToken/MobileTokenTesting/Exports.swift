// Whole modules, as in `MobileToken`: the server of the tests, and a clock, which is a module of its own so that low-level tests need not
// compile all others.
@_exported public import MobileTokenEmulator
@_exported public import TestClock
