package sqlinbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

const readUncommitted = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"

func ran(context.Context, []*message.Message) error { return nil }

// TestI3_UncommittedIsNoDuplicate: other code of the service has set a session of the pool to read
// uncommitted data. A message that arrives again there while its first delivery runs is not acknowledged,
// alone or in a batch, and then the first delivery fails.
func TestI3_UncommittedIsNoDuplicate(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for _, way := range []string{"alone", "batch"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open(t, nil), sqlinbox.Config{})
				in, err := s.open("c", inbox.Config{})
				require.NoError(t, err)
				again := func() error {
					_, err := in.Process(t.Context(), message.NewMessage("a", nil), nothing)
					return err
				}
				if way == "batch" {
					batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
					require.NoError(t, err)
					again = func() error {
						msgs := []*message.Message{message.NewMessage("a", nil), message.NewMessage("b", nil)}
						if errs := batch.Handle(ran)(t.Context(), msgs); errs != nil {
							return errs[0]
						}
						return nil
					}
				}

				failed := errors.New("the handler fails")
				_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(ctx context.Context) error {
					// The pool has one session beside that of the handler.
					if _, err := s.db.ExecContext(ctx, readUncommitted); err != nil {
						return err
					}
					require.ErrorIs(t, again(), inbox.ErrBusy)
					return failed
				})
				require.ErrorIs(t, err, failed)

				require.NoError(t, again())
				recorded, err := s.Recorded(t.Context(), "c", "a")
				require.NoError(t, err)
				require.True(t, recorded)
			})
		}
	}
}

// TestI3_SharedCacheIsNotBelieved: connections to SQLite that share a cache see uncommitted data of each
// other if read_uncommitted is set.
func TestI3_SharedCacheIsNotBelieved(t *testing.T) {
	t.Parallel()
	db := sqltest.OpenSQLite(t, filepath.Join(t.TempDir(), "leat.db"), url.Values{"cache": {"shared"}})
	db.SetMaxOpenConns(2)
	in, err := sqlinbox.New(db, outbox.SQLite, "c", sqlinbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	failed := errors.New("the handler fails")
	_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(ctx context.Context) error {
		if _, err := db.ExecContext(ctx, "PRAGMA read_uncommitted = 1"); err != nil {
			return err
		}
		_, err := in.Process(ctx, message.NewMessage("a", nil), nothing)
		require.ErrorContains(t, err, "read_uncommitted")
		return failed
	})
	require.ErrorIs(t, err, failed)
	outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), nothing)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
}

// TestB11_RefusedSessionLeavesThePool: another part of the service has changed the settings of the only
// session of the pool. A delivery may be refused, and the next one gets another session.
func TestB11_RefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		spoilt := []string{"SET autocommit = 0", readUncommitted, "SET SESSION TRANSACTION READ ONLY"}
		if name == "SQLite" {
			spoilt = []string{"PRAGMA read_uncommitted = 1", "PRAGMA query_only = 1", "PRAGMA busy_timeout = 0", "PRAGMA synchronous = 1"}
		}
		for _, spoil := range spoilt {
			for way, cfg := range map[string]inbox.Config{
				"plain": {}, "attempts": {OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3}},
			} {
				t.Run(name+"/"+spoil+"/"+way, func(t *testing.T) {
					t.Parallel()
					s := newSubject(t, open(t, nil), sqlinbox.Config{})
					s.db.SetMaxOpenConns(1)
					known, err := s.open("c", cfg)
					require.NoError(t, err)
					require.NoError(t, known.Check(t.Context()))
					for what, in := range map[string]*sqlinbox.Inbox{"a": known, "b": nil} { // one has looked at the settings
						if in == nil {
							in, err = s.open("c", cfg)
							require.NoError(t, err)
						}
						_, err = s.db.ExecContext(t.Context(), spoil)
						require.NoError(t, err)
						_, _ = in.Process(t.Context(), message.NewMessage(what, nil), nothing)
						for i := range 3 {
							_, err = in.Process(t.Context(), message.NewMessage(fmt.Sprint(what, i), nil), nothing)
							require.NoError(t, err)
						}
						for i := range 3 {
							recorded, err := s.Recorded(t.Context(), "c", fmt.Sprint(what, i))
							require.NoError(t, err)
							require.True(t, recorded, "committed when acknowledged")
						}
					}
				})
			}
		}
	}
}

// TestR14_LooksOfAnInbox: when an inbox concludes something from the absence of a row, it has read on the
// server that takes the writes, even through a splitter that sends reads, and READ ONLY transactions, to a
// lagging replica.
//
//leat:level 4
func TestR14_LooksOfAnInbox(t *testing.T) {
	t.Parallel()
	source, reader := sqltest.Replicated(t, testenv.PrivateMariaDB)
	direct, err := sqlinbox.New(sqltest.OpenMySQL(t, source, nil), outbox.MariaDB, "c", sqlinbox.Config{})
	require.NoError(t, err)
	require.NoError(t, direct.Migrate(t.Context()))
	deliver := func(in *sqlinbox.Inbox) (inbox.Outcome, error) {
		return in.Process(t.Context(), message.NewMessage("a", nil), nothing)
	}
	server := reader.Clone()
	server.DBName = ""
	lagging := sqltest.OpenMySQL(t, server, nil)
	for { // until the reader has the tables
		var n int
		require.NoError(t, lagging.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'leat_inbox_audit'", source.DBName).Scan(&n))
		if n == 1 {
			break
		}
		require.NoError(t, wait.For(t.Context(), 10*time.Millisecond))
	}
	_, err = lagging.ExecContext(t.Context(), "STOP REPLICA")
	require.NoError(t, err)
	outcome, err := deliver(direct)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)

	config := source.Clone()
	config.Addr = faultnet.MySQLSplitter{Writer: source.Addr, Reader: reader.Addr, ReadOnly: true}.Listen(t)
	split, err := sqlinbox.New(sqltest.OpenMySQL(t, config, nil), outbox.MariaDB, "c", sqlinbox.Config{})
	require.NoError(t, err)
	outcome, err = deliver(split)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
}
