package wmforward_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/wmforward"
)

const testLease = 30 * time.Second

func features() outboxtest.Features {
	return outboxtest.Features{
		LazyAdvance: true, NoWakes: true, NoDelay: true, NoSlots: true, FixedSlots: true, NoStarts: true, NoTopics: true,
		NoPositions: true, NoReplay: true, NoRetention: true,
	}
}

// others are checks that do not apply.
func others() []string {
	return []string{
		// Of Enqueue, which here is Watermill's.
		"O1_EndedTransactionIsRefused", "O1_TransactionFromContext", "O1_NoMessageIsNoOp",
		"O1_AllOrNothing", "O1_BadInputIsRefused", "O1_DelayIsRefused",
		// Of fields that the envelope does not have: type, time and key are metadata.
		// See O4_SameOutput and TestO4_HeldCopiesAreIdentical.
		"O4_CallerMayReuseItsSlices", "O4_EveryCopyIsIdentical", "O4_HeldCopiesAreIdentical",
		"Relay_O4_BrokerGetsWhatWasEnqueued",
	}
}

// TestConformance runs the suite of all outboxes on messages that the forwarder's
// publisher has written.
func TestConformance(t *testing.T) {
	t.Parallel()
	outboxtest.RunClaims(t, features(), func(t *testing.T) outboxtest.Subject {
		t.Helper()
		return &subject{t: t, db: newDatabase(t)}
	})
	runAll(t, outboxtest.Checks(features()))
}

// TestConformance_Relay runs the suite of outbox and relay together.
func TestConformance_Relay(t *testing.T) {
	t.Parallel()
	runAll(t, outboxtest.RelayChecks(features()))
}

// TestConformance_ShortLists runs the checks of windows and order with lists of
// three places, so that a window takes several. Those that set records aside want all on one page.
//
//leat:level 2
func TestConformance_ShortLists(t *testing.T) {
	t.Parallel()
	for _, c := range outboxtest.Checks(features()) {
		if !strings.HasPrefix(c.Name, "O2_") && !strings.HasPrefix(c.Name, "O5_") || strings.HasPrefix(c.Name, "O2_Hold") || c.Name == "O2_RenamedGroupGoesOn" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, c.Run(t.Context(), features(), &subject{t: t, db: newDatabase(t), most: 3}))
		})
	}
}

func runAll(t *testing.T, checks []outboxtest.Check) {
	t.Helper()
	for _, c := range checks {
		if slices.Contains(others(), c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, c.Run(t.Context(), features(), &subject{t: t, db: newDatabase(t)}))
		})
	}
}

// subject is a forwarder's table in a database of its own.
type subject struct {
	t    *testing.T
	db   *testenv.Database
	most int // bound of a list of places; 0: the default
}

// of returns the source of group. Only one can take the forwarder's place.
func (s *subject) of(group string) *wmforward.Source {
	return newSource(s.t, s.db, wmforward.Config{Group: group, Shadow: group != "default"})
}

// Source implements outboxtest.Subject.
func (s *subject) Source(group string) driver.Source {
	src := s.of(group)
	if s.most > 0 {
		src.SetMostPlaces(s.most)
	}
	return src
}

var _ outboxtest.Mortal = (*subject)(nil)

// Die implements outboxtest.Mortal: the server ends the session without a word of ours.
func (s *subject) Die(ctx context.Context, _ driver.Session) error {
	_, err := s.db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	return err
}

var _ outboxtest.ClockSetter = (*subject)(nil)

// SetClockBack implements outboxtest.ClockSetter.
func (s *subject) SetClockBack(ctx context.Context, by time.Duration) error {
	_, err := s.db.Pool.Exec(ctx, "UPDATE watermill_forwarder_topic_leat_leases SET lease_from = lease_from + $1 * interval '1 s', lease_until = lease_until + $1 * interval '1 s'", by.Seconds())
	if err == nil {
		_, err = s.db.Pool.Exec(ctx, "UPDATE watermill_forwarder_topic_leat_held SET next_at = next_at + $1 * interval '1 s'", by.Seconds())
	}
	return err
}

var _ outboxtest.CounterSetter = (*subject)(nil)

// SetCounter implements outboxtest.CounterSetter.
func (s *subject) SetCounter(ctx context.Context, last int64) error {
	_, err := s.db.Pool.Exec(ctx, `SELECT setval('"watermill_forwarder_topic_offset_seq"', $1)`, last)
	return err
}

// Begin implements outboxtest.Subject.
func (s *subject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.db.Pool.Begin(ctx)
	return &pgxTx{tx}, err
}

// EnqueueContext implements outboxtest.Subject.
func (s *subject) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	tx, ok := ctx.Value(txKey{}).(*pgxTx)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	return tx.Enqueue(ctx, msgs...)
}

// Wake implements outboxtest.Subject.
func (s *subject) Wake() {}

var _ outboxtest.ForeignWriter = &subject{}

// WriteForeign implements outboxtest.ForeignWriter: rows that are not envelopes, and one of no
// time.
func (s *subject) WriteForeign(ctx context.Context) (payloads []string, err error) {
	for _, r := range []struct{ payload, created, holds string }{
		{`"text"`, "now", `"text"`},
		{`{"payload": "aGk="}`, "now", `{"payload": "aGk="}`},
		{`{"uuid": "u", "destination_topic": "t", "payload": "aGk="}`, "-infinity", "hi"},
		{`{"uuid": "v", "destination_topic": "t", "payload": "aG8="}`, "infinity", "ho"},
	} {
		payloads = append(payloads, r.holds)
		_, err := s.db.Pool.Exec(ctx, `INSERT INTO watermill_forwarder_topic (uuid, payload, created_at, transaction_id)
			VALUES (gen_random_uuid(), $1, $2::text::timestamp, pg_current_xact_id())`, r.payload, r.created)
		if err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

var _ outboxtest.ForeignHolder = &subject{}

// HoldForeign implements outboxtest.ForeignHolder: one transaction in this
// database, one in another.
func (s *subject) HoldForeign(ctx context.Context) (release func(), err error) {
	config := s.db.Pool.Config().ConnConfig
	config.Database = "postgres"
	elsewhere, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	here, err := pgx.Connect(ctx, s.db.URL)
	if err != nil {
		return nil, err
	}
	for conn, statement := range map[*pgx.Conn]string{
		elsewhere: "BEGIN; SELECT pg_current_xact_id()",
		here:      "CREATE TABLE foreign_work (id int); BEGIN; INSERT INTO foreign_work VALUES (1)",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		_ = elsewhere.Close(context.Background())
		_ = here.Close(context.Background())
	}), nil
}

var _ outboxtest.ReadBlocker = &subject{}

// BlockHeld implements outboxtest.ReadBlocker.
func (s *subject) BlockHeld(ctx context.Context) (waits func(context.Context) error, release func(), err error) {
	return s.db.LockTable(ctx, "watermill_forwarder_topic_leat_held")
}

type txKey struct{}

type pgxTx struct{ pgx.Tx }

// Context implements outboxtest.Tx.
func (x *pgxTx) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, txKey{}, x)
}

// Enqueue publishes as a service does that keeps its keys in order: it takes a
// lock on each key first, in place of the aggregate's row.
func (x *pgxTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	prepared, err := outbox.Preparer{}.Prepare(ctx, msgs)
	if err != nil {
		return err
	}
	locks := make(map[int64]struct{})
	for i := range prepared {
		if at := prepared[i].NotBefore; !at.IsZero() {
			return &outbox.InvalidMessageError{Index: i, Field: "NotBefore", Value: at.String(), Reason: "Watermill delays nothing"}
		}
		if prepared[i].Key != "" {
			locks[keyhash.Lock("aggregate", prepared[i].Key)] = struct{}{}
		}
	}
	for _, lock := range slices.Sorted(maps.Keys(locks)) {
		if _, err := x.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
			return err
		}
	}
	for i := range prepared {
		if err := tryPublish(x.Tx, prepared[i].Topic, toWatermill(ctx, &prepared[i])); err != nil {
			return err
		}
	}
	return nil
}

func toWatermill(ctx context.Context, m *outbox.Message) *message.Message {
	msg := message.NewMessageWithContext(ctx, m.ID, m.Payload)
	maps.Copy(msg.Metadata, m.Headers)
	if m.Key != "" {
		msg.Metadata.Set(outbox.HeaderKey, m.Key)
	}
	return msg
}
