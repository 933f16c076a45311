package sqloutbox_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestN3_DueAsksForNoMoreThanItReturns: a driver reads the whole result of a query, so each query of Due
// has a LIMIT.
func TestN3_DueAsksForNoMoreThanItReturns(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var asked, bounded atomic.Int32
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if strings.Contains(query, "next_at <= ") {
				asked.Add(1)
				if strings.Contains(query, " LIMIT ") {
					bounded.Add(1)
				}
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		commit(t, ob, message("a", "1"), message("b", "2"), message("c", "3"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		p, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		holder := s.(driver.Holder)
		var held []driver.Holding
		for i := range p.Records {
			held = append(held, driver.Holding{Index: i, Fate: driver.FateRetry, Attempts: []driver.Attempt{{}}})
		}
		require.NoError(t, holder.Hold(t.Context(), p, 3, held))
		due, err := holder.Due(t.Context(), 2, nil)
		require.NoError(t, err)
		require.Len(t, due, 2)
		none, err := holder.Due(t.Context(), 2, []string{"x", "t"})
		require.NoError(t, err)
		require.Empty(t, none)
		require.Positive(t, asked.Load())
		require.Equal(t, asked.Load(), bounded.Load())
	})
}

// TestPruningIsBounded: years of audit entries are not deleted in one transaction.
func TestPruningIsBounded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var looks atomic.Int32
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if strings.HasPrefix(query, "SELECT relay_group, ") && !strings.HasPrefix(query, "SELECT relay_group, owner") && strings.Contains(query, " LIMIT ") {
				looks.Add(1)
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		row := "(1, 'a', '', '', 'g', 0, '', '', '', '')"
		_, err := db.ExecContext(t.Context(), "INSERT INTO leat_outbox_audit (at, action, actor, reason, relay_group, seq, id, topic, msg_key, details) VALUES "+
			strings.TrimSuffix(strings.Repeat(row+", ", 1200), ", "))
		require.NoError(t, err)
		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{KeepAudit: time.Hour, KeepDead: time.Hour})
		require.NoError(t, err)
		_, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		var left int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_outbox_audit").Scan(&left))
		require.Zero(t, left)
		require.Equal(t, int32(4), looks.Load(), "three pages of the audit, and one of dead records")
	})
}
