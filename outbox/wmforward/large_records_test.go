package wmforward_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// TestN3_PagesEndAtTheirBytes: a page is cut by the server, and what was cut off comes
// with the next one. S3.
func TestN3_PagesEndAtTheirBytes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	const large = 4 << 20
	publishLarge := func(n int) {
		// Of digits of random numbers, so that the server cannot compress them away.
		exec(t, db, `INSERT INTO watermill_forwarder_topic (uuid, payload, metadata, transaction_id)
			SELECT 'large', json_build_object('destination_topic', 'events', 'uuid', 'large-' || i, 'payload',
			       encode(decode((SELECT string_agg(md5(i || '-' || n), '') FROM generate_series(1, $2::int / 32) n), 'hex'), 'base64'), 'metadata', '{}'::json),
			       '{}', pg_current_xact_id()
			FROM generate_series(1, $1::int) i`, n, large)
	}
	put(t, db, "", "first")
	src := newSource(t, db, wmforward.Config{})
	publishLarge(14)
	put(t, db, "", "last")
	s := acquire(t, src)
	var sizes, pages []int
	for {
		page, err := s.Read(t.Context(), 500)
		require.NoError(t, err)
		if len(page.Records) == 0 {
			break
		}
		pages = append(pages, len(page.Records))
		for i := range page.Records {
			sizes = append(sizes, len(page.Records[i].Payload))
		}
		require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
	}
	require.Equal(t, slices.Concat([]int{5}, slices.Repeat([]int{large / 2}, 14), []int{4}), sizes)
	require.Greater(t, len(pages), 1, "a page that was cut")
}

// TestO14_RenewingWaitsForNoRead: what is held is being read, for as long as it takes,
// and the lease is renewed. S3.
func TestO14_RenewingWaitsForNoRead(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "first")
	src := newSource(t, db, wmforward.Config{})
	s, ok := acquire(t, src).(driver.Holder)
	require.True(t, ok)
	held := query1[string](t, db, "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'r' AND relname LIKE '%\\_held'")
	require.Equal(t, 1, strings.Count(held, "_held"))
	tx, err := db.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+held)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { _, err := s.Due(t.Context(), 1, nil); done <- err }()
	require.Eventually(t, func() bool {
		return query1[bool](t, db, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = $1::text::regclass AND NOT granted)", held)
	}, patience, 2*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	renewed := make(chan error, 1)
	go func() { renewed <- s.Renew(ctx, testLease) }()
	select {
	case err := <-renewed:
		require.NoError(t, err)
	case <-ctx.Done():
		require.Fail(t, "Renew waits for the read")
	}
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
}
