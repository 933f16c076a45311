package dedupe

import "time"

// Named returns until when NameIDs does not ask the store, by clocks.Passed.
func (p *Processor) Named() time.Duration { return time.Duration(p.named.Load()) }
