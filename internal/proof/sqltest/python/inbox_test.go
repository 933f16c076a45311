package python_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// TestClaims: a consumer in Python and one in Go share a name, and receive the same messages at the same
// time. Each message takes effect once.
func TestClaims(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *shop) {
		in := s.inbox("billing")
		s.exec("CREATE TABLE effects (id BLOB NOT NULL)")
		python := s.start("consume", "billing")
		messages := texts(s.t)[:60]
		byPython := 0
		for _, id := range messages {
			var inGo errgroup.Group
			inGo.Go(func() error { return s.acknowledged(in, id) })
			outcome := "busy"
			for outcome == "busy" {
				python.ask(id, &outcome)
			}
			require.Contains(s.t, []string{"claimed", "duplicate"}, outcome)
			if outcome == "claimed" {
				byPython++
			}
			require.NoError(s.t, inGo.Wait())
		}
		s.t.Logf("Python took %d of %d", byPython, len(messages))
		var effects, distinct int
		require.NoError(s.t, s.db.QueryRowContext(s.ctx, "SELECT COUNT(*), COUNT(DISTINCT id) FROM effects").Scan(&effects, &distinct))
		require.Equal(s.t, []int{len(messages), len(messages)}, []int{effects, distinct})
		s.checkTurns(in, python)
		python.end()
	})
}

// checkTurns delivers a message to one of the two after the other has processed it, or while it does.
func (s *shop) checkTurns(in *sqlinbox.Inbox, python *script) {
	s.t.Helper()
	var outcome string
	python.ask("first", &outcome)
	require.Equal(s.t, "claimed", outcome)
	got, err := in.Process(s.ctx, message.NewMessage("first", nil), func(context.Context) error { return errors.New("called again") })
	require.NoError(s.t, err)
	require.Equal(s.t, inbox.OutcomeDuplicate, got)

	if s.dialect != outbox.SQLite { // there Python would wait
		_, err = in.Process(s.ctx, message.NewMessage("second", nil), func(context.Context) error {
			python.ask("second", &outcome)
			return nil
		})
		require.NoError(s.t, err)
		require.Equal(s.t, "busy", outcome)
	}
	require.NoError(s.t, s.acknowledged(in, "second"))
	python.ask("second", &outcome)
	require.Equal(s.t, "duplicate", outcome)

	m, err := sqlinbox.NewMaintenance(s.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: time.Hour})
	require.NoError(s.t, err)
	_, err = m.RunOnce(s.ctx)
	require.NoError(s.t, err)
	old := uuid.UUID(ids.FromMillis(time.Now().Add(-48 * time.Hour).UnixMilli()))
	old[6], old[8] = 0x70, 0x80 // of version 7
	python.ask(old.String(), &outcome)
	require.Equal(s.t, "too old", outcome)
}

// acknowledged delivers a message to the consumer in Go until it can be acknowledged.
func (s *shop) acknowledged(in *sqlinbox.Inbox, id string) error {
	handle := in.Handle(func(ctx context.Context, _ *message.Message) error {
		tx := sqlinbox.Tx(ctx)
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES (?)", []byte(id))
		return err
	})
	for {
		err := handle(message.NewMessageWithContext(s.ctx, id, nil))
		if !errors.Is(err, inbox.ErrBusy) {
			return err
		}
	}
}
