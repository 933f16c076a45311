package memoutbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// TestO5_DelayedTakesItsPlaceWhenDue: a delayed message can be read from its time on,
// and not while a transaction holds its key.
func TestO5_DelayedTakesItsPlaceWhenDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, err := memoutbox.New(memoutbox.Config{})
		require.NoError(t, err)
		began, due := time.Now(), time.Now().Add(time.Minute)
		put := func(commit bool, msgs ...outbox.Message) {
			tx, err := ob.Begin(t.Context())
			require.NoError(t, err)
			require.NoError(t, ob.Enqueue(t.Context(), tx, msgs...))
			if commit {
				require.NoError(t, tx.Commit(t.Context()))
			} else {
				require.NoError(t, tx.Rollback(t.Context()))
			}
		}
		message := func(id string, at time.Time) outbox.Message {
			return outbox.Message{ID: id, Topic: "t", Key: "k", NotBefore: at}
		}
		put(true, message("last", due.Add(time.Second)), message("later", due), message("now", began.Add(-time.Hour)))
		put(false, message("never", due))
		read := func() []string {
			var all []string
			for _, m := range ob.Messages() {
				require.Zero(t, m.NotBefore)
				all = append(all, m.ID)
			}
			return all
		}
		require.Equal(t, []string{"now"}, read())
		pass(time.Minute)
		require.Equal(t, []string{"now", "later"}, read())
		require.True(t, began.Equal(ob.Messages()[1].OccurredAt), "the time of the event")

		open, err := ob.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, ob.Enqueue(t.Context(), open, message("first", time.Time{})))
		pass(time.Second)
		require.Equal(t, []string{"now", "later"}, read(), "the key is held")
		require.NoError(t, open.Commit(t.Context()))
		require.Equal(t, []string{"now", "later", "first", "last"}, read())

		session, err := ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Hour)
		require.NoError(t, err)
		put(true, message("delayed", time.Now().Add(time.Minute)))
		page, err := session.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, page.Records, 4)
		require.NoError(t, session.Advance(t.Context(), page, 4))
		page, err = session.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, page.Records)
		pass(time.Minute)
		page, err = session.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, page.Records, 1)
	})
}
