package open

import "github.com/leat-go/leat/outbox/adopt"

// AdoptConfig describes how messages are made from a table's rows.
type AdoptConfig = adopt.Config

// AdoptedTable is a table that is adopted, or can be.
type AdoptedTable = adopt.Table

// Adopter is a Database that can adopt tables of a service.
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
