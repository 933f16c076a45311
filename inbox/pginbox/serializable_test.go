package pginbox_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI6_ConflictsDoNotShow has handlers that all write one row. The first two
// meet for certain: both have read before either writes. At the higher levels one
// is refused, and runs again; at each, every message is committed by the delivery
// that first claimed it, and no increment is lost.
func TestI6_ConflictsDoNotShow(t *testing.T) {
	t.Parallel()
	for kind, newSubject := range map[string]maker{
		"pgx": newSubject, "sql": newSQLSubject,
	} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				const messages = 12
				s := newSubject(t, testenv.Postgres(t), pginbox.Config{Isolation: level})
				_, err := s.pool.Exec(t.Context(), `CREATE TABLE `+s.schema+`.counter (n int); INSERT INTO `+s.schema+`.counter VALUES (0)`)
				require.NoError(t, err)
				p, err := s.Open("c", inbox.Config{ConflictRetries: 100, BusyDelay: time.Millisecond})
				require.NoError(t, err)
				var (
					runs atomic.Int32
					meet = newMeeting(2)
					errs [messages]error
					work sync.WaitGroup
				)
				for i := range messages {
					work.Go(func() {
						outcome, err := process(t, p, strconv.Itoa(i), func(ctx context.Context) error {
							err := exec(ctx, `SELECT n FROM `+s.schema+`.counter`)
							if runs.Add(1) <= 2 {
								meet.wait()
							}
							return errors.Join(err, exec(ctx, `UPDATE `+s.schema+`.counter SET n = n + 1`))
						})
						if outcome != inbox.OutcomeCommitted {
							errs[i] = errors.Join(err, errors.New(outcome.String()))
						}
					})
				}
				work.Wait()
				require.NoError(t, errors.Join(errs[:]...))
				var n int
				require.NoError(t, s.env.Pool.QueryRow(t.Context(), `SELECT n FROM `+s.schema+`.counter`).Scan(&n))
				require.Equal(t, messages, n)
				if level == pgx.ReadCommitted {
					require.Equal(t, int32(messages), runs.Load())
				} else {
					require.Greater(t, runs.Load(), int32(messages), "nobody was refused")
				}
			})
		}
	}
}

// TestI4_OutageOfTheServer: what the server answers if it has no disk, or ends the session, does not speak
// against the message; a statement timeout does.
func TestI4_OutageOfTheServer(t *testing.T) {
	t.Parallel()
	const raise = `DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '`
	for kind, newSubject := range map[string]maker{"pgx": newSubject, "sql": newSQLSubject} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			p, err := s.Open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
			require.NoError(t, err)
			for _, statement := range []string{
				raise + `53100'; END $$`, raise + `58030'; END $$`, `SELECT pg_terminate_backend(pg_backend_pid())`,
			} {
				outcome, err := process(t, p, "a", func(ctx context.Context) error { return exec(ctx, statement) })
				require.Equal(t, inbox.OutcomeFailed, outcome, statement)
				require.False(t, inbox.ShouldPoison(err), err)
			}
			// The session that was ended holds the message until its process has gone.
			outcome := inbox.OutcomeBusy
			for outcome == inbox.OutcomeBusy {
				outcome, err = process(t, p, "a", func(ctx context.Context) error {
					return errors.Join(exec(ctx, `SET LOCAL statement_timeout = 1`), exec(ctx, `SELECT pg_sleep(60)`))
				})
			}
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeParked, outcome)
		})
	}
}

// TestI6_DeadlocksAreRetried lets two handlers lock two rows in opposite order.
func TestI6_DeadlocksAreRetried(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	table := s.schema + `.two`
	_, err := s.pool.Exec(t.Context(), `CREATE TABLE `+table+` (id int); INSERT INTO `+table+` VALUES (0), (1)`)
	require.NoError(t, err)
	p, err := s.Open("c", inbox.Config{})
	require.NoError(t, err)
	var (
		runs atomic.Int32
		meet = newMeeting(2)
		errs [2]error
		work sync.WaitGroup
	)
	for i := range 2 {
		work.Go(func() {
			_, errs[i] = process(t, p, strconv.Itoa(i), func(ctx context.Context) error {
				err := exec(ctx, `SELECT FROM `+table+` WHERE id = $1 FOR UPDATE`, i)
				if runs.Add(1) <= 2 {
					meet.wait()
				}
				return errors.Join(err, exec(ctx, `SELECT FROM `+table+` WHERE id = $1 FOR UPDATE`, 1-i))
			})
		})
	}
	work.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	// The one that is refused may come back before the other has woken: then they meet again.
	require.GreaterOrEqual(t, runs.Load(), int32(3))
}

// meeting is where n goroutines wait for each other.
type meeting struct{ *sync.WaitGroup }

func newMeeting(n int) meeting {
	m := meeting{&sync.WaitGroup{}}
	m.Add(n)
	return m
}

func (m meeting) wait() {
	m.Done()
	m.Wait()
}
