package sqlinbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

// redriven receives the deliveries of redriven messages.
type redriven chan inbox.DeliveryEvent

func (r redriven) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	if e.Redriven {
		r <- e
	}
}

var errHandler = errors.New("the handler fails")

// TestGrantsAreEnough uses the grants of docs/databases.md for a consumer whose handler writes its own
// rows, for maintenance, a viewer and an operator.
func TestGrantsAreEnough(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, nil)
			s := newSubject(t, d, sqlinbox.Config{})
			ctx := t.Context()
			documented := sqltest.DocumentedGrants(t, "databases.md", "Grants of the inbox")
			documented.Grants["consumer"] = append(documented.Grants["consumer"], "GRANT INSERT ON effects TO ")
			as := func(roles ...string) *sql.DB { return documented.As(t, d.look, d.config, roles...) }
			again := make(redriven, 10)
			in, err := sqlinbox.New(as("consumer"), d.dialect, "c", sqlinbox.Config{Config: inbox.Config{
				OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1}, Fingerprint: inbox.FingerprintPayload,
				Hooks: []outbox.Hook{again}, RedrivePoll: 10 * time.Millisecond,
			}})
			require.NoError(t, err)
			require.NoError(t, in.Check(ctx))
			write := func(ctx context.Context) error { return s.Write(ctx, "done") }
			fail := func(context.Context) error { return errHandler }
			process := func(id string, handler func(context.Context) error, want inbox.Outcome) {
				t.Helper()
				outcome, err := in.Process(ctx, message.NewMessage(id, nil), handler)
				require.Equal(t, want, outcome, "%v", err)
			}
			process("a", write, inbox.OutcomeCommitted)
			process("a", write, inbox.OutcomeDuplicate)
			process("b", fail, inbox.OutcomeParked)
			process("c", fail, inbox.OutcomeParked)

			of := driver.GroupTopic{Group: "g", Topic: "orders"}
			for next := range int64(2) {
				marks, err := in.Marks(ctx, of)
				require.NoError(t, err)
				_, err = in.SetMarks(ctx, of, marks.History, map[int32]driver.Mark{0: {Next: next, Token: marks.Partitions[0].Token}})
				require.NoError(t, err)
			}

			viewer, err := sqlinbox.NewAdmin(as("viewer"), d.dialect, sqlinbox.Config{})
			require.NoError(t, err)
			operator, err := sqlinbox.NewAdmin(as("operator", "viewer"), d.dialect, sqlinbox.Config{})
			require.NoError(t, err)
			looks(t, viewer)
			by := admin.By{Actor: "me", Reason: "test"}
			_, err = viewer.Drop(ctx, admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "b"}})
			require.ErrorContains(t, err, "denied", "the control")

			changed, err := operator.Drop(ctx, admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "b"}})
			require.NoError(t, err)
			require.Equal(t, 1, changed.Count)
			changed, err = operator.Redrive(ctx, admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "c"}})
			require.NoError(t, err)
			require.Equal(t, 1, changed.Count)
			redriving, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() {
				ended <- in.RunRedrive(redriving, func(ctx context.Context, _ *message.Message) error { return write(ctx) })
			}()
			require.Equal(t, inbox.OutcomeCommitted, (<-again).Outcome)
			stop()
			require.NoError(t, <-ended)
			stats, err := viewer.Stats(ctx)
			require.NoError(t, err)
			require.Zero(t, stats.Parked+stats.Redriving)
			maintain(t, d, as("maintenance"))
			s.putAhead(t, time.Hour)
			_, err = viewer.(admin.Retainer).LowerFloor(ctx, lowering(time.Time{}))
			require.ErrorContains(t, err, "denied", "the control")
			_, err = operator.(admin.Retainer).LowerFloor(ctx, lowering(time.Time{}))
			require.NoError(t, err)
		})
	}
}

// looks calls every function that only reads.
func looks(t *testing.T, a admin.Inbox) {
	t.Helper()
	ctx := t.Context()
	stats, err := a.Stats(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(2), stats.Parked)
	consumers, err := a.Consumers(ctx, admin.ConsumersQuery{})
	require.NoError(t, err)
	require.Len(t, consumers, 1)
	parked, err := a.Parked(ctx, admin.ParkedQuery{Consumer: "c"})
	require.NoError(t, err)
	require.Len(t, parked, 2)
	failures, err := a.Failures(ctx, admin.FailuresQuery{Consumer: "c"})
	require.NoError(t, err)
	require.NotEmpty(t, failures)
	seen, err := a.Lookup(ctx, admin.LookupQuery{ID: "a"})
	require.NoError(t, err)
	require.Len(t, seen, 1)
	_, err = a.Attempts(ctx, admin.AttemptsQuery{Consumer: "c"})
	require.NoError(t, err)
	audit, err := a.(admin.Auditor).Audit(ctx, admin.AuditQuery{})
	require.NoError(t, err)
	require.NotEmpty(t, audit)
	_, err = a.(admin.Retainer).Retention(ctx)
	require.NoError(t, err)
}

// maintain prunes everything.
func maintain(t *testing.T, d *database, db *sql.DB) {
	t.Helper()
	ctx := t.Context()
	m, err := sqlinbox.NewMaintenance(db, d.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: time.Hour, KeepAudit: 24 * time.Hour})
	require.NoError(t, err)
	for _, statement := range []string{
		"UPDATE leat_inbox SET at = 1", "UPDATE leat_inbox_audit SET at = 1",
		"INSERT INTO leat_inbox_attempts SELECT id, 'never came again', 1, 1, 1, '[]' FROM leat_inbox_consumers",
	} {
		_, err := d.look.ExecContext(ctx, statement)
		require.NoError(t, err)
	}
	report, err := m.RunOnce(ctx)
	require.NoError(t, err)
	require.Positive(t, report.Deleted)
	require.Positive(t, report.PrunedAudit)
	require.Equal(t, int64(1), report.PrunedAttempts)
}

// TestS17_NumbersAndLocksAreNotAConsumers: with the documented grants, a consumer cannot raise a floor,
// remove a lock, or choose the number of a row.
func TestS17_NumbersAndLocksAreNotAConsumers(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, nil)
			newSubject(t, d, sqlinbox.Config{})
			db := sqltest.DocumentedGrants(t, "databases.md", "Grants of the inbox").As(t, d.look, d.config, "consumer")
			for _, statement := range []string{
				"UPDATE leat_inbox_locks SET floor = 9223372036854775807",
				"UPDATE leat_inbox_locks SET bucket = -1 WHERE bucket = 7",
				"DELETE FROM leat_inbox_locks WHERE bucket = 7",
				"INSERT INTO leat_inbox_consumers (id, name, since, fence) VALUES (2147483647, 'x', 0, 0)",
				"UPDATE leat_inbox_consumers SET name = 'y'",
				"INSERT INTO leat_inbox_audit (no, at, consumer, action, actor, reason, parked_no, message_id, topic, msg_key) " +
					"VALUES (9223372036854775807, 0, 1, '', '', '', 0, '', '', '')",
				"UPDATE leat_inbox_parked SET no = 9223372036854775807",
				"UPDATE leat_inbox_parked SET payload = ''",
				"DELETE FROM leat_inbox",
			} {
				_, err := db.ExecContext(t.Context(), statement)
				require.ErrorContains(t, err, "denied", statement)
			}
		})
	}
}
