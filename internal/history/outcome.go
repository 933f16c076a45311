package history

// outcome is the outcome of the transaction of an event.
type outcome int

const (
	// unheard events are known only from places that cannot have produced them.
	unheard outcome = iota
	// derived events come from an effect, or claim to.
	derived
	committed
	rolledBack
	// forgotten events were committed, as far as is known, in a time that the database has lost since.
	forgotten
	// unresolved outcomes were never reported, and there is no ledger.
	unresolved
)

// outcome decides what happened to the event. The ledger takes precedence.
func (x *index) outcome(e *event) outcome {
	switch {
	case e.is(inLedger):
		return committed
	case e.is(intended | toldCommitted | toldAborted | toldUnknown):
	case e.is(child | caused):
		return derived
	default:
		return unheard
	}
	switch {
	case x.ended[Ledger] && x.forgot(e):
		return forgotten
	case x.ended[Ledger]:
		return rolledBack
	case e.is(toldCommitted):
		return committed
	case e.is(toldAborted):
		return rolledBack
	default:
		return unresolved
	}
}

// rightful reports whether the event may have been published.
func (x *index) rightful(e *event) bool {
	switch x.outcome(e) {
	case committed, unresolved, derived, forgotten:
		return true
	default:
		return false
	}
}

// count fills in the figures about events.
func (x *index) count() Figures {
	f := x.figures
	f.Records, f.Effects = len(x.records), len(x.effects)
	f.Repeats = f.Records
	for i := range x.events {
		e := &x.events[i]
		if e.is(published) {
			f.Repeats--
		}
		switch x.outcome(e) {
		case committed:
			f.Committed++
		case rolledBack:
			f.RolledBack++
		case forgotten:
			f.Forgotten++
		case unresolved:
			f.Unresolved++
		case derived:
			f.DerivedEvents++
			continue
		default:
			continue
		}
		f.Events++
		if !e.is(toldCommitted | toldAborted) {
			f.Unknown++
		}
	}
	return f
}
