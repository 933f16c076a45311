package kafkasource

// Values of driver.SourceEvent.Kind for the end of a delivery.
const (
	// OutcomeAcked means that the message was acknowledged.
	OutcomeAcked = "acked"
	// OutcomeNacked means that it will be delivered again.
	OutcomeNacked = "nacked"
	// OutcomeMalformed means that it could not be unmarshalled.
	OutcomeMalformed = "malformed"
	// OutcomeAbandoned means that its context ended first. The next owner of the partition
	// delivers it again.
	OutcomeAbandoned = "abandoned"
)

// Values of driver.SourceEvent.Kind for what happens to a partition.
const (
	// Assigned means that this member reads the partition from now on.
	Assigned = "assigned"
	// Released means that it was given up in order, in a rebalance or by Close.
	Released = "released"
	// Lost means that it was given up without a commit.
	Lost = "lost"
)
