package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// put inserts messages with the given numbers, all in one statement.
func put(t *testing.T, on interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, numbers ...int,
) {
	t.Helper()
	var rows []string
	for _, n := range numbers {
		rows = append(rows, "("+strconv.Itoa(n)+", 0, 'm"+strconv.Itoa(n)+"', 't', 'k', '', '"+strconv.Itoa(n)+"', '', 1)")
	}
	_, err := on.ExecContext(t.Context(),
		"INSERT INTO leat_outbox (seq, shard, id, topic, msg_key, type, payload, headers, created_at) VALUES "+strings.Join(rows, ", "))
	require.NoError(t, err)
}

// gapsClosedAtOnce is the number of gaps that one Read closes.
const gapsClosedAtOnce = 500

// train inserts messages with a rolled-back transaction before each.
func train(t *testing.T, db *sql.DB, length int) {
	t.Helper()
	var numbers []int
	for n := range length {
		numbers = append(numbers, 2*n+2)
	}
	put(t, db, numbers...)
}

// TestN3_RollbackTrainsAreLookedThroughInOneGo: thousands of numbers are missing. A Read does not query
// them a hundred at a time, and finds those that have appeared, in order.
func TestN3_RollbackTrainsAreLookedThroughInOneGo(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var looks atomic.Int32
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if strings.HasPrefix(query, "SELECT seq") && !strings.Contains(query, "NOWAIT") {
				looks.Add(1)
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		train(t, db, 3000)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Len(t, drain(t, s), 3000)
		looks.Store(0)
		page, err := s.Read(t.Context(), 1000)
		require.NoError(t, err)
		require.Empty(t, page.Records)
		// What is new, the numbers, and the rows of gaps that were closed if it took so long.
		require.LessOrEqual(t, looks.Load(), int32(2+gapsClosedAtOnce/100))
		put(t, db, 5999, 6001) // the last gap, which is closed last
		require.Equal(t, []string{"5999", "6001"}, drain(t, s))
	})
}

// TestO9_ClosingGapsKeepsNobodyWaiting: a producer uses a number while the relay closes gaps. The lease
// can still be renewed, the Read gives up soon, and the producer's message is read.
func TestO9_ClosingGapsKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		plain := sqltest.OpenMySQL(t, config, nil)
		producer, err := plain.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = producer.Rollback() }()
		var s driver.Session
		var once sync.Once
		var closing atomic.Bool
		renewed := make(chan error, 1)
		db := sqltest.OpenHooked(t, config, func(ctx context.Context, query string) error {
			if !strings.HasPrefix(query, "INSERT IGNORE INTO `leat_outbox` (seq, shard") || s == nil {
				return nil
			}
			once.Do(func() {
				closing.Store(true)
				put(t, producer, 1) // between the look and the INSERT
				go func() { renewed <- s.Renew(ctx, lease) }()
				select {
				case err := <-renewed:
					renewed <- err
				case <-time.After(10 * time.Second):
					renewed <- errors.New("the lease waits for the gaps")
				}
			})
			return nil
		})
		ob := newOutbox(t, db, dialect)
		train(t, db, 1500)
		s = acquire(t, ob, sqloutbox.SourceConfig{})
		require.Len(t, drain(t, s), 1500)
		for !closing.Load() {
			require.Empty(t, read(t, s))
			require.NoError(t, wait.For(t.Context(), 20*time.Millisecond))
		}
		require.NoError(t, <-renewed)
		require.NoError(t, producer.Commit())
		require.Equal(t, []string{"1"}, drain(t, s))
		var left []byte
		for {
			require.Empty(t, read(t, s))
			require.NoError(t, plain.QueryRowContext(t.Context(), "SELECT gaps FROM leat_outbox_groups").Scan(&left))
			if strings.Count(string(left), ",") < 100 {
				return
			}
			require.NoError(t, wait.For(t.Context(), 20*time.Millisecond))
		}
	})
}
