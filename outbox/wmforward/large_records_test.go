package wmforward_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

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
