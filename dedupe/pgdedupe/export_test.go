package pgdedupe

import "time"

// Impatient shortens how long a request has a connection before the pool is looked at.
func (s *TxStore) Impatient(long time.Duration) { s.full.Long = long }
