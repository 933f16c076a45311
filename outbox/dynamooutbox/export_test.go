package dynamooutbox

import "time"

// Recount sets how long a number of buckets is believed. It is called before anything else.
func (o *Outbox) Recount(d time.Duration) { o.recount = d }
