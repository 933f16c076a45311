package sim

// Rules that the simulated parts break where Schedule.Broken says so.
const (
	NoEpoch          = "writes do not compare the epoch"
	AdvanceOnRead    = "the position passes records when they are read"
	IDCursor         = "a cursor by number instead of windows"
	OrderByXID       = "windows are read in the order of xid"
	NoKeyLocks       = "writers of a key do not take turns"
	SinkGoesOn       = "the sink sends behind a failure"
	AckEarly         = "the sink acknowledges what the broker refuses"
	ClaimApart       = "the inbox commits its row apart from the effects"
	BusyIsDuplicate  = "a message in progress counts as a duplicate"
	AttemptsInside   = "attempts are rolled back with the handler"
	AckBeforePark    = "a parked message is acknowledged before it is stored"
	KeyNotHeld       = "a key goes on past its parked message"
	EarlyTakeover    = "a lease is taken over before its end"
	UnfencedExtend   = "a lease is extended that is another's"
	UnfencedComplete = "a run is completed that is another's"
	ForgetsDone      = "the store forgets what is done"
)

// Control is a rule that is broken on purpose, to see that the checks notice.
type Control struct {
	// Scenario and Broken are those of the Schedule.
	Scenario, Broken string
	// Rules are the invariants that it violates, one of which must be reported.
	Rules []string
}

// Controls returns all controls.
func Controls() []Control {
	return []Control{
		{"pipeline", NoEpoch, []string{"O9"}},
		{"pipeline", AdvanceOnRead, []string{"O2", "O12"}},
		{"pipeline", IDCursor, []string{"O2"}},
		{"pipeline", OrderByXID, []string{"O5"}},
		{"pipeline", NoKeyLocks, []string{"O5"}},
		{"pipeline", SinkGoesOn, []string{"O5"}},
		{"pipeline", AckEarly, []string{"O2", "O12"}},
		{"pipeline", ClaimApart, []string{"I1", "I3"}},
		{"pipeline", BusyIsDuplicate, []string{"I1", "I3"}},
		{"inbox", AttemptsInside, []string{"I4"}},
		{"inbox", AckBeforePark, []string{"I1", "I3"}},
		{"inbox", KeyNotHeld, []string{"order"}},
		{"dedupe", EarlyTakeover, []string{"D4", "D7"}},
		{"dedupe", UnfencedExtend, []string{"D2"}},
		{"dedupe", UnfencedComplete, []string{"D2"}},
		{"dedupe", ForgetsDone, []string{"D3"}},
	}
}
