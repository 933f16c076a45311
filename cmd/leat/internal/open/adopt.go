package open

import "github.com/leat-go/leat/outbox/adopt"

// AdoptConfig says how messages are made of a table's rows.
type AdoptConfig = adopt.Config

// AdoptedTable is a table that is adopted, or may be.
type AdoptedTable = adopt.Table

// Adopter is a Database that can take over tables of a service's own.
type Adopter interface {
	// Adopt connects to nothing.
	Adopt(cfg AdoptConfig) (*AdoptedTable, error)
}

// Adopt implements Adopter.
func (p *Postgres) Adopt(cfg AdoptConfig) (*AdoptedTable, error) {
	cfg.LeatSchema, cfg.Outbox = p.target.Schema, p.target.Outbox
	return adopt.New(p.Pool, cfg)
}

// Adopt implements Adopter.
func (d *SQL) Adopt(cfg AdoptConfig) (*AdoptedTable, error) {
	cfg.Outbox = d.target.Outbox
	return adopt.NewSQL(d.db, d.named, cfg)
}
