package sqlinbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

// TestI2_EndedTransactionIsNoticed: what a handler writes after its transaction has ended commits by
// itself. The inbox must not mistake that for its own commit.
func TestI2_EndedTransactionIsNoticed(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		for end, how := range map[string]func(ctx context.Context, tx *sql.Tx) error{
			"by a statement": func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "ROLLBACK")
				return err
			},
			"by the transaction": func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() },
		} {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open(t, nil), sqlinbox.Config{})
				in, err := s.open("c", inbox.Config{})
				require.NoError(t, err)
				err = in.Handle(func(ctx context.Context, _ *message.Message) error {
					tx := sqlinbox.Tx(ctx)
					return how(ctx, tx)
				})(message.NewMessage("a", nil))
				require.ErrorIs(t, err, driver.ErrEnded)
				recorded, err := s.Recorded(t.Context(), "c", "a")
				require.NoError(t, err)
				require.False(t, recorded)
				outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return nil })
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeCommitted, outcome)
			})
		}
	}
}

// TestB3_ADeliveryPreparesNothing: a driver that does not interpolate parameters, as MySQL's by default,
// prepares each statement with parameters first, in a round trip of its own. The claim and the check after
// the handler have no parameters.
func TestB3_ADeliveryPreparesNothing(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			config := s.config.Clone()
			config.InterpolateParams = false
			var mu sync.Mutex
			var texts []string
			db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
				if mu.Lock(); strings.Contains(query, "`leat_inbox` ") {
					texts = append(texts, query)
				}
				mu.Unlock()
				return nil
			})
			in, err := sqlinbox.New(db, s.dialect, "c", sqlinbox.Config{})
			require.NoError(t, err)
			require.NoError(t, in.Check(t.Context()))
			_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				texts = texts[max(len(texts)-1, 0):] // the claim
				return nil
			})
			require.NoError(t, err)
			require.Len(t, texts, 2)
			require.Contains(t, texts[0], "INSERT IGNORE INTO `leat_inbox` ")
			require.Contains(t, texts[1], "SELECT 1 FROM `leat_inbox` ")
			for _, text := range texts {
				require.NotContains(t, text, "?")
			}
		})
	}
}

// TestB11_ADuplicateIsDurable: without a synced binary log, InnoDB shows a commit before it is durable. So
// the inbox commits a write of its own before it answers that a message is a duplicate.
func TestB11_ADuplicateIsDurable(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openMySQL(t, nil), sqlinbox.Config{})
	in, err := s.open("c", inbox.Config{})
	require.NoError(t, err)
	for want := range 3 {
		_, err := in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return nil })
		require.NoError(t, err)
		var fences int
		require.NoError(t, s.look.QueryRowContext(t.Context(), `SELECT fence FROM leat_inbox_consumers`).Scan(&fences))
		require.Equal(t, want, fences)
	}
}

func TestCheck_RefusesWhatCannotHoldAnInbox(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for setting, want := range map[string]string{
			"autocommit=0":                    "autocommit is off",
			"tx_isolation='READ-UNCOMMITTED'": "see what is not committed",
			"sql_select_limit=1":              "results would lack rows",
			"unique_checks=0":                 "locks an empty table",
		} {
			t.Run(name+"/"+setting, func(t *testing.T) {
				t.Parallel()
				variable, value, _ := strings.Cut(setting, "=")
				if variable == "tx_isolation" && name == "MySQL" {
					variable = "transaction_isolation"
				}
				db := open(t, map[string]string{variable: value})
				newSubject(t, db, sqlinbox.Config{})
				in, err := sqlinbox.New(db.db, db.dialect, "c", sqlinbox.Config{})
				require.NoError(t, err)
				err = in.Check(t.Context())
				require.ErrorIs(t, err, sqlinbox.ErrUnsupported)
				require.ErrorContains(t, err, want)
				_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return nil })
				require.ErrorIs(t, err, sqlinbox.ErrUnsupported)
			})
		}
	}
}

func TestCheck_RefusesTheOtherFamilyAndMissingRows(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openMariaDB(t, nil), sqlinbox.Config{})
	other, err := sqlinbox.New(s.db, outbox.MySQL, "c", sqlinbox.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, other.Check(t.Context()), sqlinbox.ErrUnsupported)

	none, err := sqlinbox.New(s.db, s.dialect, "c", sqlinbox.Config{Table: "elsewhere"})
	require.NoError(t, err)
	require.ErrorIs(t, none.Check(t.Context()), outbox.ErrNotMigrated)

	_, err = s.look.ExecContext(t.Context(), `DELETE FROM leat_inbox_locks WHERE bucket = 17`)
	require.NoError(t, err)
	in, err := s.open("c", inbox.Config{})
	require.NoError(t, err)
	err = in.Check(t.Context())
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.ErrorContains(t, err, "5119 rows")
}

func TestCheck_RefusesSQLiteThatIsSetUpOtherwise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with url.Values
		want error
	}{
		"deferred transactions": {url.Values{"_txlock": {"deferred"}}, sqlinbox.ErrUnsupported},
		"commits that may be lost": {
			url.Values{"_pragma": {"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(NORMAL)"}}, outbox.ErrNotDurable,
		},
		"writers that do not wait": {url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)"}}, sqlinbox.ErrUnsupported},
		"as it should be":          {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := sqltest.OpenSQLite(t, filepath.Join(t.TempDir(), "leat.db"), c.with)
			in, err := sqlinbox.New(db, outbox.SQLite, "c", sqlinbox.Config{})
			require.NoError(t, err)
			require.NoError(t, in.Migrate(t.Context()))
			require.ErrorIs(t, in.Check(t.Context()), c.want)
		})
	}
}

// TestCheck_SaysWhoHasTheFile: another transaction writes for longer than busy_timeout, and the error says
// that.
func TestCheck_SaysWhoHasTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leat.db")
	patience := url.Values{"_pragma": {"busy_timeout(50)", "journal_mode(WAL)", "synchronous(FULL)"}}
	in, err := sqlinbox.New(sqltest.OpenSQLite(t, path, patience), outbox.SQLite, "c", sqlinbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	other, err := sqltest.OpenSQLite(t, path, nil).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	err = in.Check(t.Context())
	require.ErrorContains(t, err, "for longer than busy_timeout")
	require.NotErrorIs(t, err, sqlinbox.ErrUnsupported)
	require.NoError(t, other.Rollback())
	require.NoError(t, in.Check(t.Context()))
}

// TestCheck_WaitsNoLongerThanItMay: while the check of one delivery hangs, others wait for it only as long
// as their contexts allow.
func TestCheck_WaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openMySQL(t, nil), sqlinbox.Config{})
	looks, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.db = sqltest.OpenHooked(t, s.config, func(context.Context, string) error {
		once.Do(func() {
			close(looks)
			<-goOn
		})
		return nil
	})
	in, err := s.open("c", inbox.Config{})
	require.NoError(t, err)
	hanging, waiting := make(chan error, 1), make(chan error, 1)
	go func() { hanging <- in.Check(context.Background()) }()
	<-looks
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	go func() { waiting <- in.Check(ctx) }()
	select {
	case err := <-waiting:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(10 * time.Second):
		t.Error("it waits for the other look")
	}
	close(goOn)
	require.NoError(t, <-hanging)
}

func TestConfig_IsChecked(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	for want, create := range map[string]func() (any, error){
		"db":      func() (any, error) { return sqlinbox.New(nil, outbox.SQLite, "c", sqlinbox.Config{}) },
		"dialect": func() (any, error) { return sqlinbox.New(db, "oracle", "c", sqlinbox.Config{}) },
		"consumer": func() (any, error) {
			return sqlinbox.New(db, outbox.SQLite, strings.Repeat("c", 256), sqlinbox.Config{})
		},
		"Table": func() (any, error) { return sqlinbox.New(db, outbox.SQLite, "c", sqlinbox.Config{Table: "a b"}) },
		"Isolation": func() (any, error) {
			return sqlinbox.New(db, outbox.SQLite, "c", sqlinbox.Config{Isolation: sql.LevelSerializable})
		},
		"Isolation = Read Uncommitted": func() (any, error) {
			return sqlinbox.New(db, outbox.MySQL, "c", sqlinbox.Config{Isolation: sql.LevelReadUncommitted})
		},
		"Table = \"a c\"": func() (any, error) { return sqlinbox.NewAdmin(db, outbox.SQLite, sqlinbox.Config{Table: "a c"}) },
		"Table = \"a d\"": func() (any, error) {
			return sqlinbox.NewMaintenance(db, outbox.SQLite, sqlinbox.Config{Table: "a d"}, sqlinbox.MaintenanceConfig{Retention: time.Hour})
		},
		"Retention": func() (any, error) {
			return sqlinbox.NewMaintenance(db, outbox.SQLite, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: time.Minute})
		},
		"KeepAudit": func() (any, error) {
			return sqlinbox.NewMaintenance(db, outbox.SQLite, sqlinbox.Config{},
				sqlinbox.MaintenanceConfig{Retention: time.Hour, KeepAudit: time.Hour})
		},
	} {
		made, err := create()
		require.Nil(t, made, want)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
	_, err := sqlinbox.Migrations(outbox.MySQL, sqlinbox.Config{})
	require.NoError(t, err)
}

// TestMaintenance_ForgetsAttemptsAndAudit: histories of attempts without recent additions are pruned, and
// so are old entries of the audit.
func TestMaintenance_ForgetsAttemptsAndAudit(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openSQLite(t, nil), sqlinbox.Config{})
	in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3, Delay: inbox.NoDelay}})
	require.NoError(t, err)
	_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return context.DeadlineExceeded })
	require.Error(t, err)
	_, err = in.Process(t.Context(), message.NewMessage("b", nil), func(context.Context) error {
		return inbox.Permanent(context.DeadlineExceeded)
	})
	require.NoError(t, err)
	long := time.Now().Add(-100 * time.Hour).UnixMicro()
	for _, statement := range []string{"UPDATE leat_inbox_attempts SET last_at = ?", "UPDATE leat_inbox_audit SET at = ?", "UPDATE leat_inbox SET at = ?"} {
		_, err := s.look.ExecContext(t.Context(), statement, long)
		require.NoError(t, err)
	}
	for i := range 1500 { // more than a page, the old one last
		_, err := s.look.ExecContext(t.Context(), `INSERT INTO leat_inbox_attempts (consumer, id, attempts, first_at, last_at, errors)
			SELECT id, ?, 1, 1, ?, '[]' FROM leat_inbox_consumers`, fmt.Appendf(nil, "\x00%015d", i), time.Now().UnixMicro())
		require.NoError(t, err)
	}
	m, err := sqlinbox.NewMaintenance(s.look, s.dialect, s.cfg, sqlinbox.MaintenanceConfig{Retention: 50 * time.Hour, KeepAudit: 50 * time.Hour})
	require.NoError(t, err)
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), report.Deleted, "an id that tells no time goes by when it was processed")
	require.Equal(t, int64(1), report.PrunedAttempts)
	var left int
	require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_inbox_attempts").Scan(&left))
	require.Equal(t, 1500, left)
	require.Equal(t, int64(1), report.PrunedAudit)
	require.WithinDuration(t, time.Now().Add(-50*time.Hour), report.Floor, time.Minute)
}

// TestMigrate_RefusesWhatIsLost: a database in memory disappears with its last connection, and an
// exclusive one allows only one connection.
func TestMigrate_RefusesWhatIsLost(t *testing.T) {
	t.Parallel()
	for text, with := range map[string]url.Values{
		"journal_mode = memory":    {"mode": {"memory"}, "cache": {"shared"}},
		"journal_mode = off":       {"_pragma": {"busy_timeout(1000)", "journal_mode(OFF)", "synchronous(FULL)"}},
		"locking_mode = exclusive": {"_pragma": {"busy_timeout(10000)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(FULL)"}},
	} {
		db := sqltest.OpenSQLite(t, filepath.Join(t.TempDir(), "leat.db"), with)
		in, err := sqlinbox.New(db, outbox.SQLite, "c", sqlinbox.Config{})
		require.NoError(t, err)
		require.ErrorContains(t, in.Migrate(t.Context()), text)
	}
}
