package exactly

// rules are the protocol; each field leaves one of them out.
type rules struct {
	readFirst     bool // the position is read before earlier producers are fenced
	noFence       bool // each relay has a producer that fences no other
	positionAfter bool // the position is stored once the records are committed
	positionFirst bool // the position is committed before the records
	retryUnknown  bool // an unanswered commit counts as an abort, and all is sent again
	trustUnknown  bool // an unanswered commit counts as a commit
	commitGap     bool // the transaction is committed although a record was refused
	copyFirst     bool // PostgreSQL's copy is written before the commit
	fromCopy      bool // a relay begins at PostgreSQL's copy
	missingIsZero bool // a missing position counts as the start
	wearsOff      bool // a position ahead of the database is accepted once its transaction ids were used again
}

// bounds are the bounds of a search.
type bounds struct {
	records  uint8
	window   uint8 // records of a transaction, at most
	terms    uint8
	copies   bool // PostgreSQL's copy is written
	timeouts bool // the coordinator ends transactions that take too long
	vanishes bool // the position may vanish from its topic
	rewinds  bool // the database may go back while some relay has not yet started
}

// protocol is the configuration of the steps.
type protocol struct {
	rules
	bounds
}
