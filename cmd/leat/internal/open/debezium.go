package open

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// HandoffRequest names the connector and the relay group of a handoff.
type HandoffRequest struct {
	admin.By

	// Connector is the connector's configuration.
	Connector map[string]string
	// Group is the relay group.
	Group string
}

// Handoffs is a Database whose relay groups can replace Debezium.
type Handoffs interface {
	// Handoff connects to nothing. Errors name the option of the connector that is wrong.
	Handoff(r HandoffRequest) (*Handoff, error)
}

// Handoff has the steps between a connector and a relay group, those of debezium.Handoff.
type Handoff struct {
	*debezium.Handoff

	// Table and Slot name the connector's table, with its schema, and its replication slot.
	Table, Slot string
	// Own reports whether the table is leat's own.
	Own bool

	slot *debezium.Slot
}

// DropSlot drops the replication slot.
func (h *Handoff) DropSlot(ctx context.Context) error { return h.slot.Drop(ctx) }

// SlotState returns where the connector stands.
func (h *Handoff) SlotState(ctx context.Context) (debezium.SlotState, error) {
	return h.slot.State(ctx)
}

// Handoff implements Handoffs.
func (p *Postgres) Handoff(r HandoffRequest) (*Handoff, error) {
	ob, err := p.own()
	if err != nil {
		return nil, err
	}
	config, slotConfig, err := debezium.FromConnector(r.Connector)
	if err != nil {
		return nil, err
	}
	config.LeatSchema, config.Outbox, config.LockTimeout = p.target.Schema, p.target.Outbox, p.target.LockTimeout
	h := &Handoff{
		Table: config.Schema + "." + config.Table, Slot: slotConfig.Slot,
		Own: config.Schema == config.LeatSchema && config.Table == config.Outbox,
	}
	if h.slot, err = debezium.NewSlot(p.Pool, slotConfig); err != nil {
		return nil, err
	}
	cfg := debezium.HandoffConfig{
		Source: pgoutbox.SourceConfig{Group: r.Group}, Actor: r.Actor, Reason: r.Reason,
		Log: pgx.Identifier{config.Schema, config.Table}.Sanitize(),
	}
	if !h.Own {
		if cfg.Table, err = adopt.New(p.Pool, config); err != nil {
			return nil, err
		}
	}
	h.Handoff, err = debezium.NewHandoff(ob, h.slot, cfg)
	return h, err
}
