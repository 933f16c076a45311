package sqlinbox_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

// madeAgo returns an id of version 7 that was made age ago.
func madeAgo(age time.Duration) string {
	id := uuid.Must(uuid.NewV7())
	made := ids.FromMillis(time.Now().Add(-age).UnixMilli())
	copy(id[:6], made[:6])
	return id.String()
}

// lowering returns a request to lower the floor.
func lowering(to time.Time) admin.LowerFloorRequest {
	return admin.LowerFloorRequest{By: admin.By{Actor: "operator", Reason: "the clock was wrong"}, To: to, MayRepeat: !to.IsZero()}
}

// putAhead raises the floor as clocks would do that are wrong together.
func (s *subject) putAhead(tb testing.TB, by time.Duration) {
	tb.Helper()
	_, err := s.look.ExecContext(context.Background(), "UPDATE leat_inbox_locks SET floor = ? WHERE bucket < 4096", time.Now().Add(by).UnixMilli())
	require.NoError(tb, err)
}

// TestI7_FloorAheadOfTheClock: database and process had the same wrong clock, and now every message is too
// old. Maintenance fails and says how to lower the floor; after that, messages are processed. While the
// clocks differ, the floor is not lowered.
func TestI7_FloorAheadOfTheClock(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, map[string]string{"timestamp": strconv.FormatInt(time.Now().AddDate(0, 1, 0).Unix(), 10)})
			s := newSubject(t, d, sqlinbox.Config{})
			s.putAhead(t, 60*24*time.Hour)
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			process := func(id string, want inbox.Outcome, wanted error) {
				t.Helper()
				outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), nothing)
				require.ErrorIs(t, err, wanted)
				require.Equal(t, want, outcome)
			}
			fresh := madeAgo(-time.Minute)
			process(fresh, inbox.OutcomeFailed, driver.ErrTooOld)
			var alarms heard
			m, err := sqlinbox.NewMaintenance(s.look, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{
				Retention: 7 * 24 * time.Hour, Hooks: []outbox.Hook{&alarms},
			})
			require.NoError(t, err)
			_, err = m.RunOnce(t.Context())
			require.ErrorContains(t, err, "lower it by leat inbox retention lower")
			require.Equal(t, []outbox.AlarmEvent{{Package: "sqlinbox", Kind: sqlinbox.AlarmClock, Detail: err.Error()}}, alarms.raised)

			if s.config != nil { // a server, which has a clock of its own
				off, err := sqlinbox.NewAdmin(d.db, s.dialect, sqlinbox.Config{})
				require.NoError(t, err)
				_, err = off.(admin.Retainer).LowerFloor(t.Context(), lowering(time.Time{}))
				require.ErrorContains(t, err, "the floor is not lowered: the clocks of database and process differ by")
				process(fresh, inbox.OutcomeFailed, driver.ErrTooOld)
			}
			operators, err := s.admin()
			require.NoError(t, err)
			_, err = operators.(admin.Retainer).LowerFloor(t.Context(), lowering(time.Time{}))
			require.NoError(t, err)
			process(fresh, inbox.OutcomeCommitted, nil)
			process(fresh, inbox.OutcomeDuplicate, nil)
			process(madeAgo(time.Minute), inbox.OutcomeFailed, driver.ErrTooOld)
			_, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Len(t, alarms.ended, 1)
		})
	}
}

// TestI7_FloorIsLoweredUnderARound: a round of maintenance has read which ids are below the floor, and
// pauses while the floor is lowered and one of them is processed again. It deletes none of them.
func TestI7_FloorIsLoweredUnderARound(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			process := func(id string, want inbox.Outcome) {
				t.Helper()
				outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), nothing)
				require.NoError(t, err)
				require.Equal(t, want, outcome)
			}
			old, again := madeAgo(10*24*time.Hour), madeAgo(10*24*time.Hour)
			process(old, inbox.OutcomeCommitted)
			s.putAhead(t, 24*time.Hour)
			operators, err := s.admin()
			require.NoError(t, err)
			to := time.Now().Add(-12 * 24 * time.Hour).Truncate(time.Millisecond)
			var met atomic.Bool
			db := sqltest.OpenHooked(t, s.config, func(_ context.Context, query string) error {
				if strings.Contains(query, "SELECT id, at FROM") && !met.Swap(true) {
					_, err := operators.(admin.Retainer).LowerFloor(t.Context(), lowering(to))
					require.NoError(t, err)
					process(again, inbox.OutcomeCommitted)
				}
				return nil
			})
			m, err := sqlinbox.NewMaintenance(db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: 11 * 24 * time.Hour})
			require.NoError(t, err)
			_, _ = m.RunOnce(t.Context()) // the floor was ahead as it began
			require.True(t, met.Load())
			process(again, inbox.OutcomeDuplicate)
			process(old, inbox.OutcomeDuplicate)
		})
	}
}

// TestI7_OtherIDsUnderAClockThatIsBehind: ids without a time arrive while the database's clock is a month
// behind. Once it is right, they are remembered for as long as all others.
func TestI7_OtherIDsUnderAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, map[string]string{"timestamp": strconv.FormatInt(time.Now().AddDate(0, -1, 0).Unix(), 10)}), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
			require.NoError(t, err)
			_, err = in.Process(t.Context(), message.NewMessage("one", nil), nothing)
			require.NoError(t, err)
			msgs := []*message.Message{message.NewMessage("two", nil), message.NewMessage("three", nil)}
			require.Equal(t, []error{nil, nil}, batch.Process(t.Context(), msgs, func(context.Context, []*message.Message) error { return nil }))

			m, err := sqlinbox.NewMaintenance(s.look, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: 7 * 24 * time.Hour})
			require.NoError(t, err)
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Deleted)
			for _, id := range []string{"one", "two", "three"} {
				outcome, err := in.Process(t.Context(), message.NewMessage(id, nil), nothing)
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeDuplicate, outcome)
			}
		})
	}
}
