package pginbox_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// queueEffect queues the message's UUID as its effect.
func (s *subject) queueEffect(queue *pgx.Batch, msg *message.Message) *pgx.QueuedQuery {
	return queue.Queue(`INSERT INTO `+s.schema+`.effects VALUES ($1)`, msg.UUID)
}

func (s *subject) requireEffects(t *testing.T, want ...string) {
	t.Helper()
	got, err := s.Effects(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, want, got)
}

func (s *subject) queuedInbox(t *testing.T) *pginbox.Inbox {
	t.Helper()
	p, err := s.Open("queued", inbox.Config{BusyDelay: inbox.NoDelay})
	require.NoError(t, err)
	return p.(*pginbox.Inbox)
}

func delivery(ctx context.Context, id string) *message.Message {
	return message.NewMessageWithContext(ctx, id, nil)
}

// TestQueuedRoundTrips counts writes: one for a message, and two where a callback
// is asked before the commit, or the message is claimed by itself.
func TestQueuedRoundTrips(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	plain := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		s.queueEffect(queue, msg)
		s.queueEffect(queue, msg)
		return nil
	})
	asked := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		s.queueEffect(queue, msg).Exec(func(tag pgconn.CommandTag) error {
			require.EqualValues(t, 1, tag.RowsAffected())
			return nil
		})
		return nil
	})
	count := func(handle message.NoPublishHandlerFunc, id string) int64 {
		before := s.cable.Writes()
		require.NoError(t, handle(delivery(t.Context(), id)))
		return s.cable.Writes() - before
	}
	count(plain, "a") // prepares the statements and looks up the consumer
	count(asked, "b")
	require.EqualValues(t, 1, count(plain, "c"))
	require.EqualValues(t, 2, count(asked, "d"))
	count(plain, "c") // turned away by an error: pgx forgets the statements of both forms
	count(plain, "e")
	require.EqualValues(t, 2, count(plain, "f"), "claimed by itself, now that there are duplicates")
	count(plain, "f")
	require.EqualValues(t, 2, count(plain, "f"), "a claim, and a rollback with the question")
	s.requireEffects(t, "a", "a", "b", "c", "c", "d", "e", "e", "f", "f")
}

// TestI1_Queued delivers messages again and again, in pipelines of every form.
func TestI1_Queued(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		for _, asks := range []bool{false, true} {
			t.Run(string(level)+"/callbacks="+strconv.FormatBool(asks), func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, env, pginbox.Config{Isolation: level})
				var errNow error
				handle := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
					query := s.queueEffect(queue, msg)
					if asks {
						query.Exec(func(pgconn.CommandTag) error { return nil })
					}
					return errNow
				})
				var want []string
				for i := range 5 {
					id := strconv.Itoa(i)
					want = append(want, id)
					errNow = errors.ErrUnsupported
					require.ErrorIs(t, handle(delivery(t.Context(), id)), errNow)
					errNow = nil
					for range i {
						require.NoError(t, handle(delivery(t.Context(), id)))
					}
					require.NoError(t, handle(delivery(t.Context(), id)))
				}
				s.requireEffects(t, want...)
				require.Zero(t, s.pool.Stat().AcquiredConns())
			})
		}
	}
}

// TestI4_QueuedFailure fails in every way in which statements can.
func TestI4_QueuedFailure(t *testing.T) {
	t.Parallel()
	errCallback := errors.New("the callback fails")
	tests := map[string]struct {
		queue func(s *subject, queue *pgx.Batch)
		want  func(t *testing.T, err error)
	}{
		"statement": {
			queue: func(_ *subject, queue *pgx.Batch) { queue.Queue(`SELECT 1/0`) },
			want:  wantState("22012"),
		},
		"syntax": {
			queue: func(_ *subject, queue *pgx.Batch) { queue.Queue(`SELEC`) },
			want:  wantState("42601"),
		},
		"argument": {
			queue: func(_ *subject, queue *pgx.Batch) { queue.Queue(`SELECT $1::int`, make(chan int)) },
			want:  func(t *testing.T, err error) { t.Helper(); require.ErrorContains(t, err, "chan") },
		},
		"callback": {
			queue: func(_ *subject, queue *pgx.Batch) {
				queue.Queue(`SELECT 1`).Exec(func(pgconn.CommandTag) error { return errCallback })
			},
			want: func(t *testing.T, err error) { t.Helper(); require.ErrorIs(t, err, errCallback) },
		},
		"refused commit": {
			queue: func(s *subject, queue *pgx.Batch) {
				queue.Queue(`INSERT INTO ` + s.schema + `.once VALUES (1), (1)`)
			},
			want: func(t *testing.T, err error) { t.Helper(); require.ErrorIs(t, err, driver.ErrNotCommitted) },
		},
		"ended by a statement": {
			queue: func(_ *subject, queue *pgx.Batch) { queue.Queue(`ROLLBACK`) },
			want:  func(t *testing.T, err error) { t.Helper(); require.ErrorIs(t, err, driver.ErrEnded) },
		},
	}
	env := testenv.Postgres(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, env, pginbox.Config{})
			_, err := s.pool.Exec(t.Context(), `CREATE TABLE `+s.schema+`.once (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
			require.NoError(t, err)
			fails := true
			handle := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
				s.queueEffect(queue, msg)
				if fails {
					tt.queue(s, queue)
				}
				s.queueEffect(queue, msg)
				return nil
			})
			for range 2 { // the second is claimed after others were turned away
				fails = true
				for range 2 {
					tt.want(t, handle(delivery(t.Context(), "a")))
				}
			}
			fails = false
			if name != "ended by a statement" { // what came after it is the handler's business
				s.requireEffects(t)
			}
			require.NoError(t, handle(delivery(t.Context(), "a")))
			if name != "ended by a statement" {
				s.requireEffects(t, "a", "a")
			}
			require.Zero(t, s.pool.Stat().AcquiredConns())
		})
	}
}

func wantState(state string) func(t *testing.T, err error) {
	return func(t *testing.T, err error) {
		t.Helper()
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr)
		require.Equal(t, state, pgErr.Code)
	}
}

// TestI3_QueuedBusy holds a message in another delivery.
func TestI3_QueuedBusy(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	in := s.queuedInbox(t)
	handle := pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		s.queueEffect(queue, msg)
		return nil
	})
	_, err := process(t, in, "a", func(context.Context) error {
		for range 2 { // in one pipeline, and claimed by itself
			require.ErrorIs(t, handle(delivery(t.Context(), "a")), inbox.ErrBusy)
		}
		require.NoError(t, handle(delivery(t.Context(), "b")))
		return errors.ErrUnsupported
	})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, handle(delivery(t.Context(), "a")))
	s.requireEffects(t, "a", "b")
}

// TestI3_QueuedAckedEarly: nothing is sent for a message whose fate is sealed. The ack of
// the handler's own message does not seal it.
func TestI3_QueuedAckedEarly(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	early := delivery(t.Context(), "early")
	handle := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		s.queueEffect(queue, msg)
		switch msg.UUID {
		case "early":
			early.Ack()
		case "nacked":
			msg.Nack()
		}
		msg.Ack()
		return nil
	})
	require.ErrorIs(t, handle(early), inbox.ErrAckedBeforeCommit)
	require.ErrorIs(t, handle(delivery(t.Context(), "nacked")), inbox.ErrAckedBeforeCommit)
	s.requireEffects(t)
	acked := delivery(t.Context(), "a")
	require.NoError(t, handle(acked))
	require.True(t, acked.Nack(), "nobody has acked it")
	s.requireEffects(t, "a")
}

// TestI1_QueuedAmbiguous cuts the connection before the pipeline with COMMIT
// arrives, or before its answer does.
func TestI1_QueuedAmbiguous(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, applied := range []bool{true, false} {
		for _, swarm := range []bool{false, true} {
			t.Run("applied="+strconv.FormatBool(applied)+"/duplicates="+strconv.FormatBool(swarm), func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, env, pginbox.Config{})
				s.pool = s.textPool(t) // in which COMMIT is text
				handle := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
					s.queueEffect(queue, msg)
					return nil
				})
				require.NoError(t, handle(delivery(t.Context(), "before")))
				if swarm {
					require.NoError(t, handle(delivery(t.Context(), "before")))
				}
				s.BreakCommit(applied)
				require.ErrorIs(t, handle(delivery(t.Context(), "a")), inbox.ErrCommitUnknown)
				if !applied {
					s.requireEffects(t, "before")
				}
				require.NoError(t, handle(delivery(t.Context(), "a")))
				s.requireEffects(t, "before", "a")
			})
		}
	}
}

// textPool is the subject's pool, less prepared statements.
func (s *subject) textPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	config := s.pool.Config()
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// TestB11_Queued: a commit that would not be durable is refused in a pipeline as
// well.
func TestB11_Queued(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	config := s.pool.Config()
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	in, err := pginbox.New(pool, "queued", s.cfg)
	require.NoError(t, err)
	handle := pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		s.queueEffect(queue, msg)
		return nil
	})
	for range 2 {
		require.ErrorIs(t, handle(delivery(t.Context(), "a")), outbox.ErrNotDurable)
	}
	s.requireEffects(t)
}

// TestI1_QueuedEveryQueryMode: see TestI1_EveryQueryMode.
//
//leat:level 2
func TestI1_QueuedEveryQueryMode(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, env, pginbox.Config{})
			config := s.pool.Config()
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			in, err := pginbox.New(pool, "queued", s.cfg)
			require.NoError(t, err)
			b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
			require.NoError(t, err)
			queue := func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
				s.queueEffect(queue, msg)
				if msg.UUID == "bad" {
					queue.Queue(`SELECT 1/0`)
				}
				return nil
			}
			single, batch := pginbox.HandleQueued(in, queue), pginbox.HandleBatchQueued(b, queue)
			for range 3 {
				require.NoError(t, single(delivery(t.Context(), "o'-1")))
				wantState("22012")(t, single(delivery(t.Context(), "bad")))
				errs := batch(t.Context(), []*message.Message{
					delivery(t.Context(), "a"), delivery(t.Context(), "o'-1"), delivery(t.Context(), "bad"), delivery(t.Context(), "b"),
				})
				require.Equal(t, []bool{true, true, false, true}, []bool{errs[0] == nil, errs[1] == nil, errs[2] == nil, errs[3] == nil})
				wantState("22012")(t, errs[2])
			}
			s.requireEffects(t, "o'-1", "a", "b")
		})
	}
}
