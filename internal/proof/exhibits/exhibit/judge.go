package exhibit

// Event is a message whose transaction has committed.
type Event struct {
	// ID identifies the message.
	ID string
	// Key is the scope of the message's order. It is "" if the message has no order.
	Key string
}

// Judge compares the committed messages, in the order of their commits, with the ids of the effects, in
// the order in which they happened. An effect of a message that was never committed counts as doubled.
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
