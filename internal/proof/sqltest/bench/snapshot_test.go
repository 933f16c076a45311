package bench_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// versions is how often a busy relay stores its position in an hour, at one page per second.
const versions = 3600

// besideSnapshot reads the same backlog twice: while another transaction has held a snapshot of the
// database for as long as it takes to store an hour of positions, and without it. For that snapshot the
// server keeps all versions of the group's row.
func besideSnapshot(b *testing.B, s side) {
	b.Helper()
	ob := filled(b, s, *messages)
	run := func() (spent, error) {
		exec(b, s.db, "UPDATE leat_outbox_groups SET last = 0, gaps = ''")
		return s.measure(func() error { return drain(b.Context(), ob, "one", nothing{}, *messages) })
	}
	require.NoError(b, drain(b.Context(), ob, "one", nothing{}, *messages)) // the group
	beside := func(int) (spent, error) {
		tx, err := s.db.BeginTx(b.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		require.NoError(b, err)
		defer func() { _ = tx.Rollback() }()
		var n int
		require.NoError(b, tx.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM leat_outbox_groups").Scan(&n))
		age(b, s.db)
		return run()
	}
	without := func(int) (spent, error) {
		awaitPurge(b, s.db)
		return run()
	}
	f := turns(b, contender{"beside", *messages, beside}, contender{"without", *messages, without})
	s.aims.judge(b, f, 0.8, "beside", "without")
}

// age creates that many versions of the group's row.
func age(b *testing.B, db *sql.DB) {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	require.NoError(b, err)
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for range versions {
		_, err := tx.ExecContext(b.Context(), "UPDATE leat_outbox_groups SET rev = rev + 1")
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit())
}

// awaitPurge waits until the server has removed the versions that no transaction can see, except a few
// that it keeps until there are more. It waits 5 s at most.
func awaitPurge(b *testing.B, db *sql.DB) {
	b.Helper()
	const old = 100
	until := time.Now().Add(5 * time.Second)
	for range time.Tick(10 * time.Millisecond) {
		n, err := number(b.Context(), db, "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'")
		require.NoError(b, err)
		if n < old || time.Now().After(until) {
			return
		}
	}
}
