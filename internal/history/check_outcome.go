package history

// checkExistence is O1: what the producer was told agrees with the ledger, the outbox agrees with
// both, and every message has an event that produced it.
func (x *index) checkExistence(q *inquiry) {
	for i := range x.events {
		e := &x.events[i]
		q.finding.Checked++
		switch o := x.outcome(e); {
		case o == unheard && e.is(published|inOutbox|inRelay|waiting):
			q.violate(e.at, "%s exists, but nobody has made it", ref(i))
		case x.ended[Ledger] && e.is(toldCommitted) && !e.is(inLedger) && o != forgotten:
			q.violate(e.at, "%s was committed, said the database, but its ledger has no row of it", ref(i))
		case e.is(toldAborted) && e.is(inLedger):
			q.violate(e.at, "%s was rolled back, said the database, but its ledger has a row of it", ref(i))
		case x.intents > 0 && e.is(inLedger) && !e.is(intended):
			q.violate(e.at, "the ledger has a row of %s, which nobody intended", ref(i))
		case o == rolledBack && e.is(inOutbox):
			q.violate(e.at, "the outbox has a row of %s, which was rolled back", ref(i))
		case o == forgotten && e.is(inOutbox):
			q.violate(e.at, "the outbox has a row of %s, which its ledger has lost", ref(i))
		}
	}
}

// checkLoss is O2: every committed event is on the broker or waits, and so is everything that the
// broker has acknowledged.
func (x *index) checkLoss(q *inquiry) {
	if !x.ended[Record] {
		q.finding.Unjudged = "there is no dump of topics"
		return
	}
	for i := range x.events {
		e := &x.events[i]
		if x.outcome(e) != committed {
			continue
		}
		q.finding.Checked++
		switch {
		case e.is(published):
		case e.is(acked):
			q.violate(e.at, "%s of key %q was acknowledged by the broker and is in none of its topics",
				ref(i), x.keys.text(e.key))
		case !e.is(waiting):
			q.violate(e.at, "%s of key %q was committed, is in no topic, and waits nowhere",
				ref(i), x.keys.text(e.key))
		}
	}
}

// checkPhantoms is O3: an event that was rolled back is not on the broker and was not sent.
func (x *index) checkPhantoms(q *inquiry) {
	if !x.ended[Record] {
		q.finding.Unjudged = "there is no dump of topics"
		return
	}
	for i := range x.events {
		e := &x.events[i]
		if x.outcome(e) != rolledBack {
			continue
		}
		q.finding.Checked++
		switch {
		case e.is(published):
			q.violate(e.at, "%s of key %q was published, but its transaction was rolled back",
				ref(i), x.keys.text(e.key))
		case e.is(inRelay):
			q.violate(e.at, "%s of key %q was sent, but its transaction was rolled back",
				ref(i), x.keys.text(e.key))
		}
	}
}
