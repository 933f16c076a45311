package open

// Work is what a daemon does in a database.
type Work struct {
	// Slots is the number of slots of all relays, of which Apart have two connections all the time.
	Slots, Apart int
	// Listens and Maintains are set if any outbox has a relay that listens, or is maintained.
	Listens, Maintains bool
}

// What all outboxes of a database share: the connection that listens, and the one that holds the
// leases of maintenance.
const listens, maintains = 1, 1

// Need implements Served.
func (p *Postgres) Need(w Work) (least, most int) {
	least = w.Slots + w.Apart + int(p.Pool.Config().MaxConns)
	if w.Listens {
		least += listens
	}
	if w.Maintains {
		least += maintains
	}
	return least, least + w.Slots - w.Apart
}

// Need implements Served. Sessions of relays are the pool's.
func (d *SQL) Need(Work) (least, most int) {
	n := d.db.Stats().MaxOpenConnections
	return n, n
}
