package pgoutbox_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// release is an earlier release of the library, by its SQL. While a schema is
// upgraded under a rolling deploy, earlier releases go on running theirs.
type release struct {
	t          *testing.T
	statements map[string]string
}

func loadRelease(t *testing.T, dir string) release {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	r := release{t, map[string]string{}}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		sql, err := pgmigrate.Names{Schema: "leat", Table: "outbox"}.Render(string(raw))
		require.NoError(t, err)
		r.statements[strings.TrimSuffix(filepath.Base(f), ".sql")] = sql
	}
	return r
}

func (r release) exec(q pgx.Tx, name string, args ...any) int64 {
	r.t.Helper()
	tag, err := q.Exec(r.t.Context(), r.statements[name], args...)
	require.NoError(r.t, err, name)
	return tag.RowsAffected()
}

func (r release) row(q pgx.Tx, name string, args ...any) map[string]any {
	r.t.Helper()
	rows := r.rows(q, name, args...)
	require.Len(r.t, rows, 1, name)
	return rows[0]
}

func (r release) rows(q pgx.Tx, name string, args ...any) []map[string]any {
	r.t.Helper()
	rows, err := q.Query(r.t.Context(), r.statements[name], args...)
	require.NoError(r.t, err, name)
	all, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(r.t, err, name)
	return all
}

// relay1 is a relay of version 1, moved by hand.
type relay1 struct {
	release

	db               *testenv.Database
	group, owner     string
	epoch            int64
	sequence, system any
}

// claim claims the lease as version 1 does: the row is made on the way.
func (r *relay1) claim() {
	r.t.Helper()
	minute := int64(time.Minute / time.Microsecond)
	inTx(r.t, r.db, func(tx pgx.Tx) {
		require.Empty(r.t, r.rows(tx, "claim", r.group, int16(0), r.owner, nil, minute, int64(0)))
		require.EqualValues(r.t, 1, r.exec(tx, "claim_row", r.group, int16(0)))
		epoch, ok := r.row(tx, "claim", r.group, int16(0), r.owner, nil, minute, int64(0))["epoch"].(int64)
		require.True(r.t, ok)
		r.epoch = epoch
		require.Equal(r.t, r.owner, r.row(tx, "holder", r.group, int16(0))["coalesce"])
	})
	inTx(r.t, r.db, func(tx pgx.Tx) {
		facts := r.row(tx, "facts", `"leat"."outbox"`)
		r.sequence, r.system = facts["oid"], facts["system_identifier"]
		require.Equal(r.t, false, facts["pg_is_in_recovery"])
		require.EqualValues(r.t, 1, facts["seqcache"])
	})
}

// start stores the first window.
func (r *relay1) start() {
	r.t.Helper()
	inTx(r.t, r.db, func(tx pgx.Tx) {
		require.Empty(r.t, r.rows(tx, "load", r.group, int16(0)))
		probe := r.row(tx, "probe", r.sequence, "3:3:")
		require.EqualValues(r.t, 1, r.exec(tx, "start", r.group, int16(0), probe["coalesce"], r.owner, r.epoch, r.system))
	})
}

// open opens the next window and returns its number and payloads.
func (r *relay1) open() (no any, got []string) {
	r.t.Helper()
	var w map[string]any
	var f any
	inTx(r.t, r.db, func(tx pgx.Tx) { w = r.row(tx, "load", r.group, int16(0)) })
	inTx(r.t, r.db, func(tx pgx.Tx) { f = r.row(tx, "probe", r.sequence, w["target"])["coalesce"] })
	inTx(r.t, r.db, func(tx pgx.Tx) { w = r.row(tx, "open", r.group, int16(0), w["window_no"], f, r.owner, r.epoch) })
	inTx(r.t, r.db, func(tx pgx.Tx) {
		rows := r.rows(tx, "page_early", w["prev"], w["target"], int64(0), w["floor"], 10)
		for _, row := range append(rows, r.rows(tx, "page", w["prev"], w["target"], w["floor"], 10)...) {
			payload, ok := row["payload"].([]byte)
			require.True(r.t, ok)
			got = append(got, string(payload))
		}
	})
	return w["window_no"], got
}

// enqueue1 enqueues as version 1 does, and returns the number of rows.
func (r release) enqueue1(db *testenv.Database, payload string, instance any) (n int64) {
	r.t.Helper()
	inTx(r.t, db, func(tx pgx.Tx) {
		n = r.exec(tx, "enqueue", []int64{1, 2}, int64(1), instance, []int16{7}, [][16]byte{{15: 9}}, []*string{nil},
			[]string{"events"}, []string{"k"}, []*string{nil}, [][]byte{[]byte(payload)}, []string{`{"h":"v"}`}, []*time.Time{nil})
	})
	return n
}

// TestRelease1_RunsOnThisSchema: what version 1 of the library says to the
// database still means the same, on either side of this release.
func TestRelease1_RunsOnThisSchema(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	v1 := loadRelease(t, "testdata/v1")
	var instance string
	require.NoError(t, db.Pool.QueryRow(t.Context(), v1.statements["instance"]).Scan(&instance))
	require.EqualValues(t, 1, v1.enqueue1(db, "v1 a", nil))
	require.EqualValues(t, 1, v1.enqueue1(db, "v1 b", instance))
	require.Zero(t, v1.enqueue1(db, "elsewhere", "00000000-0000-0000-0000-000000000001"))
	put(t, ob, "k", "now c")
	want := []string{"v1 a", "v1 b", "now c"}
	require.Equal(t, want, payloads(readAll(t, acquire(t, ob, "now"), 10)))

	r := &relay1{release: v1, db: db, group: "v1", owner: "v1 relay"}
	r.claim()
	r.start()
	no, got := r.open()
	require.Equal(t, want, got)
	inTx(t, db, func(tx pgx.Tx) {
		require.EqualValues(t, 1, v1.exec(tx, "advance", r.group, int16(0), no, int64(2), r.owner, r.epoch))
		require.EqualValues(t, 1, v1.exec(tx, "renew", r.group, int16(0), r.owner, r.epoch, int64(time.Hour/time.Microsecond)))
	})
	late := begin(t, ob, db).put("late", "now late")
	put(t, ob, "k", "now d")
	inTx(t, db, func(tx pgx.Tx) {
		require.EqualValues(t, 1, v1.exec(tx, "raise", r.group, int16(0), no, int64(5), r.owner, r.epoch))
	})
	_, got = r.open()
	require.Equal(t, []string{"now d"}, got)
	late.commit()
	_, got = r.open()
	require.Equal(t, []string{"now late"}, got)
	inTx(t, db, func(tx pgx.Tx) {
		require.EqualValues(t, 1, v1.exec(tx, "release", r.group, int16(0), r.owner, r.epoch))
	})

	// This release goes on where version 1 stopped, which has not settled its last
	// window.
	require.Equal(t, []string{"now late"}, payloads(readAll(t, acquire(t, ob, r.group), 10)))
}

// inTx commits what fn does in a transaction.
func inTx(t *testing.T, db *testenv.Database, fn func(tx pgx.Tx)) {
	t.Helper()
	tx, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }() // after a failure, so that the pool can be closed
	fn(tx)
	require.NoError(t, tx.Commit(t.Context()))
}

// TestRelease1_IsThisRelease holds until there is a second version of the
// schema: then testdata/v1 stays as it is.
func TestRelease1_IsThisRelease(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	st, err := ob.SchemaStatus(t.Context())
	require.NoError(t, err)
	if st.Latest > 1 {
		require.DirExists(t, "testdata/v1")
		return
	}
	v1 := loadRelease(t, "testdata/v1").statements
	now := loadRelease(t, "sql").statements
	maps.Copy(now, loadRelease(t, "../internal/pgwindow/sql").statements)
	comments := regexp.MustCompile(`(?m)^\s*--.*\n?`)
	require.Len(t, now, len(v1))
	for name, sql := range now {
		require.Equal(t, comments.ReplaceAllString(sql, ""), comments.ReplaceAllString(v1[name], ""),
			"version 1 has no users yet: copy the file to testdata/v1")
	}
}
