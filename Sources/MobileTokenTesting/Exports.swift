// In a module of its own, so that tests of what is below all others need not compile all others.
@_exported public import class TestClock.ManualClock
