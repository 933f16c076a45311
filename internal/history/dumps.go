package history

import (
	"maps"
	"slices"
)

// endDump checks that the dump that ends here is whole.
func (x *index) endDump(at place, l *Line) error {
	switch l.Of {
	case Ledger, Outbox, Waiting, Record, EffectRow, Balance:
	default:
		return unusable(at, "there is no dump of %q", l.Of)
	}
	if rows := x.open[l.Of]; rows != l.Rows {
		return unusable(at, "the dump of %s says it has %d rows and has %d", l.Of, l.Rows, rows)
	}
	delete(x.open, l.Of)
	x.ended[l.Of] = true
	if l.Of != EffectRow {
		return nil
	}
	if _, err := x.book(at, l.Consumer); err != nil {
		return err
	}
	x.subscriptions = append(x.subscriptions, *l)
	return nil
}

// endFile checks that every dump in the file is complete.
func (x *index) endFile(at place) error {
	for _, of := range slices.Sorted(maps.Keys(x.open)) {
		return unusable(at, "the dump of %s has no end", of)
	}
	return nil
}

// usable reports whether there is enough data to judge anything.
func (x *index) usable(dir string) error {
	switch {
	case len(x.events) == 0:
		return unusable(place{file: dir}, "no events")
	case x.intents == 0 && !x.ended[Ledger]:
		return unusable(place{file: dir}, "neither intents nor a ledger: nobody says what should have happened")
	case !x.ended[Record] && !x.ended[EffectRow]:
		return unusable(place{file: dir}, "neither a dump of topics nor one of effects: nobody says what has happened")
	}
	return nil
}
