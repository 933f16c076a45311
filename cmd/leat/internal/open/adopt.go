package open

import "github.com/leat-go/leat/outbox/adopt"

// Adopter is a Database that can take over tables of a service's own.
type Adopter interface {
	// Adopt connects to nothing.
	Adopt(cfg adopt.Config) (*adopt.Table, error)
}

// Adopt implements Adopter.
func (p *Postgres) Adopt(cfg adopt.Config) (*adopt.Table, error) {
	cfg.LeatSchema, cfg.Outbox = p.target.Schema, p.target.Outbox
	return adopt.New(p.Pool, cfg)
}

// Adopt implements Adopter.
func (d *SQL) Adopt(cfg adopt.Config) (*adopt.Table, error) {
	cfg.Outbox = d.target.Outbox
	return adopt.NewSQL(d.db, d.named, cfg)
}
