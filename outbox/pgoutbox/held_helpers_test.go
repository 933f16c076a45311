package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const topic = "events" // that of keyed

func people() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

func keyNamed(key string) driver.Key {
	return driver.Key{Topic: topic, Key: key}
}

// holding is a session of a relay that a test drives step by step.
type holding struct {
	driver.Holder

	t  *testing.T
	ob *pgoutbox.Outbox
	db *testenv.Database
}

// newHolding starts a session of group "default" on an outbox of its own.
func newHolding(t *testing.T) *holding {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	return holdingOf(t, ob, db, "default")
}

func holdingOf(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, group string) *holding {
	t.Helper()
	s, ok := acquire(t, ob, group).(driver.Holder)
	require.True(t, ok)
	return &holding{s, t, ob, db}
}

// page reads the next page, which has n records.
func (h *holding) page(n int) driver.Page {
	h.t.Helper()
	page, err := h.Read(h.t.Context(), 100)
	require.NoError(h.t, err)
	require.Len(h.t, page.Records, n)
	return page
}

// hold reads the next page and settles all of it with these fates, one for each record. Records with
// FateDelivered are not held.
func (h *holding) hold(fates ...driver.Fate) {
	h.t.Helper()
	page := h.page(len(fates))
	require.NoError(h.t, h.Hold(h.t.Context(), page, len(fates), holdings(fates...)))
}

// holdings converts the fates of a page's records. A retry is due at once.
func holdings(fates ...driver.Fate) []driver.Holding {
	var all []driver.Holding
	for i, f := range fates {
		one := driver.Holding{Index: i, Fate: f}
		switch f {
		case driver.FateDelivered:
			continue
		case driver.FateWait:
		default:
			one.Attempts = []driver.Attempt{{At: time.Now(), Kind: outbox.FailurePermanent, Error: "refused"}}
			one.Reason = "it was refused"
		}
		all = append(all, one)
	}
	return all
}

// due returns the payloads of the held records that are due.
func (h *holding) due(except ...string) []string {
	h.t.Helper()
	return payloads(h.dueRecords(except...))
}

func (h *holding) dueRecords(except ...string) []outbox.Record {
	h.t.Helper()
	held, err := h.Due(h.t.Context(), 100, except)
	require.NoError(h.t, err)
	var records []outbox.Record
	for i := range held {
		records = append(records, held[i].Record)
	}
	return records
}

// resolve resolves the records that are due with these fates, in order, and returns the keys that became
// free.
func (h *holding) resolve(fates ...driver.Fate) []driver.Key {
	h.t.Helper()
	held, err := h.Due(h.t.Context(), 100, nil)
	require.NoError(h.t, err)
	require.GreaterOrEqual(h.t, len(held), len(fates))
	free, err := h.Resolve(h.t.Context(), verdicts(held, fates...))
	require.NoError(h.t, err)
	return free
}

func verdicts(held []driver.Held, fates ...driver.Fate) []driver.Verdict {
	var all []driver.Verdict
	for i, f := range fates {
		v := driver.Verdict{Record: &held[i].Record, Fate: f}
		if f != driver.FateDelivered {
			v.Attempts = []driver.Attempt{{At: time.Now(), Kind: outbox.FailureUnknown, Error: "refused again"}}
			v.Reason = "it was refused again"
		}
		all = append(all, v)
	}
	return all
}

// held returns the held records of key a, as "payload state", in their order.
func (h *holding) held() []string {
	h.t.Helper()
	return query1[[]string](h.t, h.db, `
		SELECT coalesce(array_agg(convert_from(payload, 'UTF8') || ' ' || state ORDER BY seq), '{}')
		FROM leat.outbox_held WHERE key = 'a'`)
}

// pendingNow returns the payloads that the relay has not settled.
func (h *holding) pendingNow() []string {
	h.t.Helper()
	return pending(h.t, h.db, "default")
}
