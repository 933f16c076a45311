package open

// Work is the work of a daemon in a database.
type Work struct {
	// Slots is the number of slots of all relays. Apart is how many of them have two connections all the
	// time.
	Slots, Apart int
	// Listens and Maintains are set if at least one outbox has a relay that listens, or is maintained.
	Listens, Maintains bool
}

// shared is the number of connections that all outboxes of a database share: one listens and holds the
// leases of maintenance.
const shared = 1

// Need implements Served.
func (p *Postgres) Need(w Work) (least, most int) {
	least = w.Slots + w.Apart + int(p.Pool.Config().MaxConns)
	if w.Listens || w.Maintains {
		least += shared
	}
	return least, least + w.Slots - w.Apart
}

// Need implements Served. Relays take their sessions from the pool.
func (d *SQL) Need(Work) (least, most int) {
	n := d.db.Stats().MaxOpenConnections
	return n, n
}
