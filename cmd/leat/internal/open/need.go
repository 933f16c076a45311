package open

// Work is what a daemon does in a database.
type Work struct {
	// Slots is the number of slots of all relays, of which Apart have two connections all the time.
	Slots, Apart int
	// Listens and Maintains are set if any outbox has a relay that listens, or is maintained.
	Listens, Maintains bool
}

// shared is what all outboxes of a database have in common: the connection that listens and holds
// the leases of maintenance.
const shared = 1

// Need implements Served.
func (p *Postgres) Need(w Work) (least, most int) {
	least = w.Slots + w.Apart + int(p.Pool.Config().MaxConns)
	if w.Listens || w.Maintains {
		least += shared
	}
	return least, least + w.Slots - w.Apart
}

// Need implements Served. Sessions of relays are the pool's.
func (d *SQL) Need(Work) (least, most int) {
	n := d.db.Stats().MaxOpenConnections
	return n, n
}
