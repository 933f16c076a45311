package sqlinbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
)

// TestA3_HandlersOnThePool: handlers that use the pool instead of their transaction wait for each other,
// until the pool opens another connection after ten seconds.
//
//leat:level 2
func TestA3_HandlersOnThePool(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const size = 4
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			s.db.SetMaxOpenConns(size)
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			var full sync.WaitGroup
			full.Add(size)
			deliver := func(n int) error {
				msg := message.NewMessageWithContext(t.Context(), fmt.Sprint("id-", n), nil)
				_, err := in.Process(t.Context(), msg, func(ctx context.Context) error {
					if n < size { // until the pool has no connection left
						full.Done()
						full.Wait()
					}
					_, err := s.db.ExecContext(ctx, "DO 1")
					return err
				})
				return err
			}
			var group errgroup.Group
			for n := range 16 {
				group.Go(func() error { return deliver(n) })
				if n == size-1 {
					full.Wait()
				}
			}
			require.NoError(t, group.Wait())
			require.Equal(t, size, s.db.Stats().MaxOpenConnections)
			var recorded int
			require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT count(*) FROM leat_inbox").Scan(&recorded))
			require.Equal(t, 16, recorded)
		})
	}
}
