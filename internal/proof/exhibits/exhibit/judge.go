package exhibit

// Event is a message whose transaction has committed.
type Event struct {
	// ID identifies the message.
	ID string
	// Key is what the message's order is about; "" means that it has none.
	Key string
}

// Judge compares what was committed, in the order of the commits, with the ids of
// what took effect, in the order in which it did. An effect of what was never
// committed counts as one too many, so as doubled.
func Judge(committed []Event, effects []string) Outcome {
	place := make(map[string]int, len(committed))
	for i, e := range committed {
		place[e.ID] = i
	}
	var o Outcome
	seen := map[string]bool{}
	last := map[string]int{} // by key, the latest commit that took effect
	broken := map[string]bool{}
	for _, id := range effects {
		at, known := place[id]
		if !known || seen[id] {
			o.Doubled++
			continue
		}
		seen[id] = true
		key := committed[at].Key
		if at < last[key] && key != "" {
			broken[key] = true
		}
		last[key] = max(last[key], at)
	}
	o.Lost = len(place) - len(seen)
	o.Reordered = len(broken)
	return o
}
