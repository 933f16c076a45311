package open

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmforward"
)

// SourceRequest is what a relay reads.
type SourceRequest struct {
	Group    string
	Slots    int
	Topics   []string
	NoListen bool
	// Start is where a new group begins: oldest, now, or "" for what is usual. At is a time.
	Start string
	At    time.Time
	// Tail is nil for none.
	Tail *pgoutbox.TailConfig
	// SyncPositions is for sinks that keep positions themselves.
	SyncPositions bool
}

// Relayed is an outbox that a daemon relays and maintains.
type Relayed struct {
	// Admin is what operators see.
	Admin admin.Outbox

	own *pgoutbox.Outbox // nil of a forwarder
	of  *Postgres
}

// Relayed returns the outbox that t names in the database.
func (p *Postgres) Relayed(t Target) (*Relayed, error) {
	at := p.At(t)
	store, err := at.Outbox()
	if err != nil {
		return nil, err
	}
	own, _ := store.(*pgoutbox.Outbox)
	return &Relayed{store, own, at}, nil
}

// Source returns what a relay reads.
func (r *Relayed) Source(s SourceRequest) (driver.Source, error) {
	if r.own == nil {
		return r.forwarder(s)
	}
	cfg := pgoutbox.SourceConfig{
		Group: s.Group, Slots: s.Slots, Topics: s.Topics, NoListen: s.NoListen, SyncPositions: s.SyncPositions, Tail: s.Tail,
	}
	switch {
	case !s.At.IsZero():
		cfg.Start = pgoutbox.StartAt(s.At)
	case s.Start == "oldest":
		cfg.Start = pgoutbox.StartOldest()
	case s.Start == "now":
		cfg.Start = pgoutbox.StartNow()
	}
	return r.own.Source(cfg)
}

func (r *Relayed) forwarder(s SourceRequest) (driver.Source, error) {
	for _, f := range []struct {
		name  string
		value any
		set   bool
	}{
		{"Slots", s.Slots, s.Slots > 1},
		{"Topics", s.Topics, len(s.Topics) > 0},
		{"Start", s.Start, s.Start != "" || !s.At.IsZero()},
		{"Tail", true, s.Tail != nil},
		{"ExactlyOnce", true, s.SyncPositions},
	} {
		if f.set {
			return nil, outbox.ConfigError(f.name, f.value, "the table of a forwarder cannot do this: leave it out")
		}
	}
	t := r.of.target
	return wmforward.New(r.of.Pool, wmforward.Config{Topic: t.Forwarder, Schema: t.ForwarderSchema, Group: s.Group, Logger: t.Logger})
}

// Maintenance returns the maintenance of the outbox.
func (r *Relayed) Maintenance(cfg pgoutbox.MaintenanceConfig) (*pgoutbox.Maintenance, error) {
	if r.own == nil {
		return nil, outbox.ConfigError("maintenance", r.of.target.Forwarder, "the table of a forwarder is not maintained: leave it out")
	}
	return pgoutbox.NewMaintenance(r.own, cfg)
}

// InboxMaintenance returns the maintenance of the inbox that t names in the database.
func (p *Postgres) InboxMaintenance(t Target, cfg pginbox.MaintenanceConfig) (*pginbox.Maintenance, error) {
	return pginbox.NewMaintenance(p.Pool, p.At(t).inboxConfig(), cfg)
}

// At is the database, with other tables.
func (p *Postgres) At(t Target) *Postgres { return &Postgres{Pool: p.Pool, target: t} }

// Ping asks whether the database answers.
func (p *Postgres) Ping(ctx context.Context) error {
	if err := p.Pool.Ping(ctx); err != nil {
		return fmt.Errorf("leat: it does not answer: %w", err)
	}
	return nil
}
