package caller

// UntilClosed is the events up to Closed, and whether that is among them.
func UntilClosed(events []Event) ([]Event, bool) { return untilClosed(events) }
