package heldqueue_test

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

const group = "default"

// memory is the queue over rows in memory. Its clock can be put forward.
type memory struct {
	heldqueue.Operators

	rows  *heldqueue.Memory
	audit heldqueue.AuditLog
	ahead time.Duration
	relay heldqueue.Relay

	// spoil breaks the store on purpose. Defaults to not at all.
	spoil func(tx heldqueue.Tx) heldqueue.Tx
}

var _ heldqueue.Store = (*memory)(nil)

func newMemory() *memory {
	m := &memory{relay: heldqueue.Relay{Owner: "owner", Epoch: 1}}
	m.rows = heldqueue.NewMemory(group, m.now, &m.audit)
	m.Operators = heldqueue.Operators{Store: m}
	return m
}

func (m *memory) now() time.Time {
	return time.Now().Add(m.ahead).UTC()
}

func (m *memory) tx() heldqueue.Tx {
	if m.spoil != nil {
		return m.spoil(m.rows)
	}
	return m.rows
}

// Change implements heldqueue.Store.
func (m *memory) Change(_ context.Context, _ string, work func(tx heldqueue.Tx) error) error {
	return work(m.tx())
}

// Look implements heldqueue.Store.
func (m *memory) Look(_ context.Context, _ string, work func(r heldqueue.Reader) error) error {
	return work(m.tx())
}

func (m *memory) hold(ctx context.Context, records []outbox.Record, h []driver.Holding) error {
	return heldqueue.Hold(ctx, m.tx(), m.relay, records, h)
}

func (m *memory) resolve(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
	return heldqueue.Resolve(ctx, m.tx(), m.relay, v)
}

func (m *memory) due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	return heldqueue.Due(ctx, m.tx(), heldqueue.Want{Except: except, Limit: limit, Bytes: heldqueue.MaxDueBytes})
}

func (m *memory) keys(ctx context.Context) ([]driver.Key, error) {
	return heldqueue.Keys(ctx, m.tx(), heldqueue.Share{})
}

func (m *memory) count(ctx context.Context) (int, error) {
	return m.tx().Count(ctx, heldqueue.Share{})
}

// Audit is of the operator's methods.
func (m *memory) Audit(_ context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return m.audit.List(q)
}
