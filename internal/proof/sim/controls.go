package sim

import "testing"

// Rules that the simulated parts break if Schedule.Broken names them.
const (
	NoEpoch          = "writes do not compare the epoch"
	RowsClaimed      = "single records are claimed (SKIP LOCKED)"
	AdvanceOnRead    = "the position passes records when they are read"
	IDCursor         = "a cursor by number instead of windows"
	OrderByXID       = "windows are read in the order of xid"
	NoKeyLocks       = "writers of a key do not take turns"
	Uncommitted      = "windows hold what was rolled back"
	WholeSnapshot    = "a window holds all that its snapshot sees"
	HeldForgotten    = "a relay is not told which keys are held"
	RetryAside       = "a record is tried later, and its key goes on"
	ParkedAlone      = "a record is parked without its key"
	OtherPayload     = "a held record comes back with another payload"
	TailBelieved     = "a window is not read that a tail has gone through"
	EarlyAgain       = "what was sent early is read again"
	EarlyFirst       = "what a tail brings is sent before the rest of the window"
	WithdrawnGone    = "what was taken back from a tail does not come again"
	LeaseKept        = "a lease is not given up"
	GroundUnseen     = "a log that was emptied is read as the one of before"
	SinkGoesOn       = "the sink sends behind a failure"
	OutageUnnamed    = "an outage looks like a failure of the record"
	AckEarly         = "the sink acknowledges what the broker refuses"
	ClaimApart       = "the inbox commits its row apart from the effects"
	ChildApart       = "the message of a handler commits apart from its effect"
	BusyIsDuplicate  = "a message in progress counts as a duplicate"
	AckFirst         = "the inbox acknowledges before the commit"
	CommitTrusted    = "a COMMIT without an answer counts as done"
	ClaimDeleted     = "the inbox records the id before, and deletes it on failure"
	ClaimLate        = "the inbox records the id after the commit of the effects"
	LookThenRun      = "the inbox looks for the id, and then runs"
	ForgottenRuns    = "the inbox runs what is older than its memory"
	ChildLate        = "the message of a handler is stored after the commit of its effect"
	AttemptsInside   = "attempts are rolled back with the handler"
	AckBeforePark    = "a parked message is acknowledged before it is stored"
	KeyNotHeld       = "a key goes on past its parked message"
	EarlyTakeover    = "a lease is taken over before its end"
	UnfencedExtend   = "a lease is extended that is another's"
	UnfencedComplete = "a run is completed that is another's"
	DoneFirst        = "a message is marked as done before its handler"
	DoneByExpiry     = "a lease that has run out counts as done"
	ReleasesAny      = "a lease is released that is another's"
	LeaseUnheard     = "a handler goes on without its lease"
	ForgetsDone      = "the store forgets what is done"
	BusyIsDone       = "a message whose lease is another's counts as done"
)

// Control is a rule that is broken on purpose, to test that the checks notice.
type Control struct {
	// Scenario and Broken are the fields of the Schedule.
	Scenario, Broken string
	// Rules are the invariants that it violates. Each must be reported.
	Rules []string
}

// Convict runs c with up to the given number of seeds, beginning at from, until each of its Rules has been
// reported. It returns the first result in which each was reported, with that violation first.
func (c Control) Convict(t *testing.T, from, seeds uint64) map[string]Result {
	t.Helper()
	found := make(map[string]Result, len(c.Rules))
	for seed := from; seed < from+seeds && len(found) < len(c.Rules); seed++ {
		r := Run(t, Schedule{Scenario: c.Scenario, Broken: c.Broken, Seed: seed}, false)
		for _, rule := range c.Rules {
			if _, ok := found[rule]; !ok && r.violates(rule) {
				found[rule] = r.led(rule)
			}
		}
	}
	return found
}

// Controls returns all controls.
func Controls() []Control {
	return []Control{
		{"pipeline", NoEpoch, []string{"O9"}},
		{"pipeline", RowsClaimed, []string{"O5"}},
		{"pipeline", AdvanceOnRead, []string{"O2", "O12"}},
		{"pipeline", Uncommitted, []string{"O3"}},
		{"pipeline", OtherPayload, []string{"O4"}},
		{"pipeline", IDCursor, []string{"O2", "liveness"}},
		{"pipeline", OrderByXID, []string{"O5"}},
		{"pipeline", NoKeyLocks, []string{"O5"}},
		{"pipeline", SinkGoesOn, []string{"O5"}},
		{"pipeline", HeldForgotten, []string{"O6"}},
		{"pipeline", RetryAside, []string{"O5"}},
		{"pipeline", ParkedAlone, []string{"O6"}},
		{"pipeline", OutageUnnamed, []string{"O8"}},
		{"pipeline", WholeSnapshot, []string{"O10"}},
		{"pipeline", AckEarly, []string{"O2", "O12"}},
		{"pipeline", TailBelieved, []string{"O2"}},
		{"pipeline", EarlyAgain, []string{"O10"}},
		{"pipeline", EarlyFirst, []string{"O5"}},
		{"pipeline", WithdrawnGone, []string{"O2"}},
		{"pipeline", LeaseKept, []string{"O13"}},
		{"pipeline", GroundUnseen, []string{"O2", "O12"}},
		{"pipeline", ClaimApart, []string{"I1", "I3"}},
		{"pipeline", ChildApart, []string{"I2"}},
		{"pipeline", BusyIsDuplicate, []string{"I1", "I3"}},
		{"pipeline", AckFirst, []string{"I3"}},
		{"pipeline", CommitTrusted, []string{"I1", "I3"}},
		{"pipeline", ClaimDeleted, []string{"I1", "I3"}},
		{"pipeline", ClaimLate, []string{"I1"}},
		{"pipeline", LookThenRun, []string{"I1"}},
		{"pipeline", ForgottenRuns, []string{"I1"}},
		{"pipeline", ChildLate, []string{"I2"}},
		{"inbox", AttemptsInside, []string{"I4"}},
		{"inbox", AckBeforePark, []string{"I1", "I3"}},
		{"inbox", KeyNotHeld, []string{"order"}},
		{"dedupe", EarlyTakeover, []string{"D4", "D7"}},
		{"dedupe", UnfencedExtend, []string{"D2"}},
		{"dedupe", UnfencedComplete, []string{"D2"}},
		{"dedupe", DoneFirst, []string{"D6"}},
		{"dedupe", DoneByExpiry, []string{"D6"}},
		{"dedupe", ReleasesAny, []string{"D4"}},
		{"dedupe", LeaseUnheard, []string{"D7"}},
		{"dedupe", ForgetsDone, []string{"D1", "D3"}},
		{"dedupe", BusyIsDone, []string{"D6"}},
	}
}
