package pgwindow_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

const ttl = time.Minute

// stepper reads a log window by window, each step by hand. A wrong form of a
// rule is a stepper's window changed before its rows are read.
type stepper struct {
	t      *testing.T
	st     *pgwindow.Statements
	leases *pglease.Statements
	conn   *pgx.Conn
	lease  pglease.Lease
	facts  pgwindow.Facts
	w      pgwindow.Window

	page, early string
}

// ours are the names of the outbox that the template holds.
func ours() pgmigrate.Names {
	return pgmigrate.Names{Schema: "leat", Table: "outbox"}
}

func newStepper(t *testing.T, db *testenv.Database) *stepper {
	t.Helper()
	return newStepperOf(t, db, ours(), "default")
}

func newStepperOf(t *testing.T, db *testenv.Database, names pgmigrate.Names, group string) *stepper {
	t.Helper()
	st, err := pgwindow.Prepare(names)
	require.NoError(t, err)
	leases, err := pglease.Prepare(names)
	require.NoError(t, err)
	s := &stepper{
		t: t, st: st, leases: leases, conn: db.Connect(t),
		page: statement(t, names, "page"), early: statement(t, names, "page_early"),
	}
	slot := pglease.Slot{Group: group}
	s.lease, err = leases.Claim(t.Context(), s.conn, slot, "stepper", pglease.Former{}, ttl)
	require.NoError(t, err)
	s.facts, err = st.Facts(t.Context(), s.conn)
	require.NoError(t, err)
	p, err := st.Probe(t.Context(), s.conn, s.facts.Sequence, pgwindow.NoWindow())
	require.NoError(t, err)
	require.NoError(t, st.Start(t.Context(), s.conn, s.lease, p.Sequence, s.facts.SystemIdentifier))
	s.w, err = st.Load(t.Context(), s.conn, slot)
	require.NoError(t, err)
	return s
}

// statement is a page statement of the outbox.
func statement(t *testing.T, names pgmigrate.Names, file string) string {
	t.Helper()
	raw, err := os.ReadFile("../../pgoutbox/sql/" + file + ".sql")
	require.NoError(t, err)
	sql, err := names.Render(string(raw))
	require.NoError(t, err)
	return sql
}

func (s *stepper) probe() pgwindow.Probe {
	s.t.Helper()
	p, err := s.st.Probe(s.t.Context(), s.conn, s.facts.Sequence, s.w)
	require.NoError(s.t, err)
	return p
}

// open opens the next window, whatever the probe says.
func (s *stepper) open() pgwindow.Window {
	s.t.Helper()
	w, err := s.st.Open(s.t.Context(), s.conn, s.lease, s.w, s.probe().Sequence)
	require.NoError(s.t, err)
	s.w = w
	return w
}

// opened opens windows while the probe finds something new, and returns their
// number and the rows in them.
func (s *stepper) opened() (windows int, rows []string) {
	s.t.Helper()
	for s.probe().New(s.w) {
		rows = append(rows, s.rows(s.open())...)
		windows++
		require.Less(s.t, windows, 100, "the probe never comes to rest")
	}
	return windows, rows
}

// rows returns the payloads of a window: phase B, then phase A.
func (s *stepper) rows(w pgwindow.Window) []string {
	s.t.Helper()
	return s.rowsOn(s.conn, w)
}

type rowQuerier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *stepper) rowsOn(q rowQuerier, w pgwindow.Window) []string {
	s.t.Helper()
	const all = 1_000_000
	var rows []string
	if w.HasEarly() {
		rows = s.read(q, s.early, w.Prev.Text, w.Target.Text, int64(0), w.Floor, all)
	}
	return append(rows, s.read(q, s.page, w.Prev.Text, w.Target.Text, w.Floor, all)...)
}

func (s *stepper) read(q rowQuerier, sql string, args ...any) []string {
	s.t.Helper()
	rows, err := q.Query(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(s.t, err)
	var payloads []string
	for _, r := range all {
		raw, ok := r["payload"].([]byte)
		require.True(s.t, ok)
		payloads = append(payloads, string(raw))
	}
	return payloads
}

// writer is a transaction on a connection of its own.
type writer struct {
	t *testing.T
	pgx.Tx
}

func begin(t *testing.T, db *testenv.Database) *writer {
	t.Helper()
	tx, err := db.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	return &writer{t, tx}
}

// put inserts messages into the outbox of the template.
func (w *writer) put(payloads ...string) *writer {
	w.t.Helper()
	for _, p := range payloads {
		_, err := w.Exec(w.t.Context(), putStatement("leat.outbox"), p)
		require.NoError(w.t, err)
	}
	return w
}

func putStatement(table string) string {
	return "INSERT INTO " + table + " (id, shard, topic, payload) VALUES (gen_random_uuid(), 0, 'events', convert_to($1, 'UTF8'))"
}

// xid returns the transaction's number, drawing it where it has none.
func (w *writer) xid() uint64 {
	w.t.Helper()
	var xid uint64
	require.NoError(w.t, w.QueryRow(w.t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&xid))
	return xid
}

func (w *writer) commit() {
	w.t.Helper()
	require.NoError(w.t, w.Commit(w.t.Context()))
}

func (w *writer) rollback() {
	w.t.Helper()
	require.NoError(w.t, w.Rollback(w.t.Context()))
}

// put commits messages, each in a transaction of its own.
func put(t *testing.T, db *testenv.Database, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		_, err := db.Pool.Exec(t.Context(), putStatement("leat.outbox"), p)
		require.NoError(t, err)
	}
}

// retry repeats a schedule that needs the rest of the cluster to be quiet for a
// moment, until it was.
func retry(t *testing.T, attempt func() (quiet bool)) {
	t.Helper()
	for range 2000 {
		if attempt() {
			return
		}
	}
	require.Fail(t, "the cluster was never quiet")
}

// await polls a condition that is a matter of moments.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 2*time.Millisecond, what)
}

// blocked reports whether the backend waits for a heavyweight lock.
func blocked(t *testing.T, db *testenv.Database, pid uint32) bool {
	t.Helper()
	var kind string
	err := db.Pool.QueryRow(t.Context(),
		"SELECT coalesce(wait_event_type, '') FROM pg_stat_activity WHERE pid = $1", pid).Scan(&kind)
	require.NoError(t, err)
	return strings.EqualFold(kind, "Lock")
}
