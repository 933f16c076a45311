package leases

// rules are the protocol; each field leaves one of them out.
type rules struct {
	ackBusy      bool // a message that is in work elsewhere is acknowledged
	markFirst    bool // the claim says done
	doneByExpiry bool // a record that expires later than a lease counts as done
	releaseAny   bool // a release is carried out whoever has the lease
	completeAny  bool // a completion is carried out whoever has the lease
	extendAny    bool // a lease is extended whoever has it
	steal        bool // a claim takes a lease that has not run out
	deaf         bool // the handler goes on whatever has become of the lease
	forgets      bool // a completion deletes the record
}

// bounds are what a search tries.
type bounds struct {
	faults uint8
	runs   uint8
}

// protocol is what the steps depend on.
type protocol struct {
	rules
	bounds
}
