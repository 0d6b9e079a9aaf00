/// The events that a ``MobileTokenObserver`` is told of.
public enum Observed {}
