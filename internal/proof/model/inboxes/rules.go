package inboxes

// rules are the protocol; each field leaves one of them out.
type rules struct {
	ackFirst      bool // the ack comes before the work
	ackBusy       bool // a message that is in work elsewhere is acknowledged
	trustCommit   bool // a COMMIT without an answer counts as committed
	markFirst     bool // the row is committed before the handler runs
	unmark        bool // and deleted when the handler fails
	markAfter     bool // the row is committed after the handler's writes
	lookFirst     bool // the claim is a look, without a lock and without a unique row
	innerAttempts bool // attempts are counted in the handler's transaction
	publishBefore bool // what goes out goes to the broker from the handler
	publishAfter  bool // what goes out goes to the broker after the commit
	forgetAll     bool // what is older than the memory runs again
}

// bounds are what a search tries.
type bounds struct {
	crashes bool
	poison  bool
	loss    bool // an ack that is early is let pass: what is looked for is a message that is lost
}

// protocol is what the steps depend on.
type protocol struct {
	rules
	bounds
}
