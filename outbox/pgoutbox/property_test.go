package pgoutbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_O5_O10_RandomSchedules compares the outbox with a model under random
// interleavings of transactions, pages, settlements and changes of the reader.
func TestO2_O5_O10_RandomSchedules(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	conns := make([]*pgx.Conn, 4)
	for i := range conns {
		conns[i] = db.Connect(t)
		_, err := conns[i].Exec(t.Context(), "SET synchronous_commit = off") // visibility is all that counts here
		require.NoError(t, err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, ob, db, conns)
		defer m.end()
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue":  m.enqueue,
			"commit":   m.commit,
			"rollback": m.rollback,
			"undo":     m.undo,
			"read":     m.read,
			"settle":   m.settle,
			"part":     m.settlePart,
			"reader":   m.changeReader,
			"drain":    m.drain,
		})
		for i := range m.txs {
			m.finish(i, true)
		}
		m.changeReader(rt)
		m.drain(rt)
	})
}

// model is the expected state: the transactions, and which of their messages were read and settled.
type model struct {
	t   require.TestingT
	ctx context.Context //nolint:containedctx // the schedule's own
	ob  *pgoutbox.Outbox

	txs     []modelTx
	holder  map[string]int // of a key: the transaction that has written it
	next    int
	session driver.Session
	pages   []driver.Page // read and not settled

	committed []string            // in the order of the commits
	keyOrder  map[string][]string // likewise, by key
	keyOf     map[string]string
	read1     []string // first occurrences, in the order in which they were read
	settled   map[string]bool
}

type modelTx struct {
	conn  *pgx.Conn
	tx    pgx.Tx // nil: none is open
	names []string
}

func newModel(rt *rapid.T, ob *pgoutbox.Outbox, db *testenv.Database, conns []*pgx.Conn) *model {
	m := &model{
		t: rt, ctx: context.Background(), ob: ob,
		holder: map[string]int{}, keyOrder: map[string][]string{}, keyOf: map[string]string{}, settled: map[string]bool{},
	}
	_, err := db.Pool.Exec(m.ctx, "DELETE FROM leat.outbox; DELETE FROM leat.outbox_leases; DELETE FROM leat.outbox_positions")
	require.NoError(rt, err)
	for _, c := range conns {
		m.txs = append(m.txs, modelTx{conn: c})
	}
	m.acquire()
	return m
}

func (m *model) acquire() {
	src, err := m.ob.Source(pgoutbox.SourceConfig{})
	require.NoError(m.t, err)
	m.session, err = src.Acquire(m.ctx, testLease)
	require.NoError(m.t, err)
}

func (m *model) end() {
	for i := range m.txs {
		if m.txs[i].tx != nil {
			_ = m.txs[i].tx.Rollback(m.ctx) // left open by a failure
		}
	}
	_ = m.session.Release(m.ctx) // or by this one
}

// enqueue writes one or two messages in some transaction. If a transaction holds the key, it uses that
// one, since any other would wait.
func (m *model) enqueue(rt *rapid.T) {
	i := rapid.IntRange(0, len(m.txs)-1).Draw(rt, "tx")
	key := rapid.SampledFrom([]string{"", "", "a", "b", "c"}).Draw(rt, "key")
	if h, held := m.holder[key]; held {
		i = h
	}
	x := m.open(rt, i)
	for range rapid.IntRange(1, 2).Draw(rt, "n") {
		m.next++
		name := fmt.Sprintf("%s%d", key, m.next)
		require.NoError(rt, m.ob.Enqueue(m.ctx, x.tx, keyed(key, name)...))
		x.names = append(x.names, name)
		m.keyOf[name] = key
	}
	if key != "" {
		m.holder[key] = i
	}
}

// open returns transaction i, and begins it if it is not open.
func (m *model) open(rt *rapid.T, i int) *modelTx {
	x := &m.txs[i]
	if x.tx == nil {
		tx, err := x.conn.Begin(m.ctx)
		require.NoError(rt, err)
		x.tx = tx
	}
	return x
}

// pick returns the index of an open transaction, and begins one if none is open.
func (m *model) pick(rt *rapid.T) int {
	var open []int
	for i := range m.txs {
		if m.txs[i].tx != nil {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		m.open(rt, 0)
		return 0
	}
	return rapid.SampledFrom(open).Draw(rt, "open tx")
}

func (m *model) commit(rt *rapid.T) { m.finish(m.pick(rt), true) }

func (m *model) rollback(rt *rapid.T) { m.finish(m.pick(rt), false) }

func (m *model) finish(i int, commit bool) {
	x := &m.txs[i]
	if x.tx == nil {
		return
	}
	if commit {
		require.NoError(m.t, x.tx.Commit(m.ctx))
		for _, name := range x.names {
			m.committed = append(m.committed, name)
			m.keyOrder[m.keyOf[name]] = append(m.keyOrder[m.keyOf[name]], name)
		}
	} else {
		require.NoError(m.t, x.tx.Rollback(m.ctx))
	}
	for key, h := range m.holder {
		if h == i {
			delete(m.holder, key)
		}
	}
	x.tx, x.names = nil, nil
}

// undo writes in a savepoint and rolls it back.
func (m *model) undo(rt *rapid.T) {
	x := &m.txs[m.pick(rt)]
	savepoint, err := x.tx.Begin(m.ctx)
	require.NoError(rt, err)
	require.NoError(rt, m.ob.Enqueue(m.ctx, savepoint, keyed("", "undone")...))
	require.NoError(rt, savepoint.Rollback(m.ctx))
}

func (m *model) read(rt *rapid.T) {
	page, err := m.session.Read(m.ctx, rapid.IntRange(1, 4).Draw(rt, "limit"))
	require.NoError(rt, err)
	if len(page.Records) == 0 {
		require.Equal(rt, len(m.pages) > 0, page.Waiting, "only unsettled pages make a reader wait")
		return
	}
	m.pages = append(m.pages, page)
	for i := range page.Records {
		name := string(page.Records[i].Payload)
		require.Contains(rt, m.committed, name, "phantom")
		require.False(rt, m.settled[name], "%s was settled and is read again", name)
		if !slices.Contains(m.read1, name) {
			m.read1 = append(m.read1, name)
		}
	}
}

// havePage reports whether there is a page to settle. If there is none, it tries to read one.
func (m *model) havePage(rt *rapid.T) bool {
	if len(m.pages) == 0 {
		m.read(rt)
	}
	return len(m.pages) > 0
}

func (m *model) settle(rt *rapid.T) {
	if !m.havePage(rt) {
		return
	}
	page := m.pages[0]
	m.pages = m.pages[1:]
	m.advance(page, len(page.Records))
}

// settlePart settles some records of the oldest page.
func (m *model) settlePart(rt *rapid.T) {
	if !m.havePage(rt) {
		return
	}
	if n := len(m.pages[0].Records); n > 1 {
		m.advance(m.pages[0], rapid.IntRange(1, n-1).Draw(rt, "n"))
	}
}

func (m *model) advance(page driver.Page, n int) {
	require.NoError(m.t, m.session.Advance(m.ctx, page, n))
	for i := range n {
		m.settled[string(page.Records[i].Payload)] = true
	}
}

// changeReader releases the lease and starts another session.
func (m *model) changeReader(*rapid.T) {
	require.NoError(m.t, m.session.Release(m.ctx))
	m.pages = nil
	m.acquire()
}

// drain reads and settles everything, and compares it with the model.
func (m *model) drain(rt *rapid.T) {
	for len(m.pages) > 0 {
		m.settle(rt)
	}
	for {
		before := len(m.pages)
		m.read(rt)
		if len(m.pages) == before {
			break
		}
		m.settle(rt)
	}
	require.ElementsMatch(rt, m.committed, m.read1)
	for key, want := range m.keyOrder {
		if key == "" {
			continue
		}
		var got []string
		for _, name := range m.read1 {
			if m.keyOf[name] == key {
				got = append(got, name)
			}
		}
		require.Equal(rt, want, got, "order of key %s", key)
	}
}
