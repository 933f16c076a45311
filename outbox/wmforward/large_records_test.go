package wmforward_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/wmforward"
)

// TestN3_PagesEndAtTheirBytes: a page is cut by the server, and what was cut off comes
// with the next one. S3.
func TestN3_PagesEndAtTheirBytes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	const large = 3 * 700_000
	publishLarge := func(n int) {
		exec(t, db, `INSERT INTO watermill_forwarder_topic (uuid, payload, metadata, transaction_id)
			SELECT 'large', json_build_object('destination_topic', 'events', 'uuid', 'large-' || i, 'payload',
			       repeat('QUFB', $2::int / 3), 'metadata', '{}'::json),
			       '{}', pg_current_xact_id()
			FROM generate_series(1, $1::int) i`, n, large)
	}
	exec(t, db, `ALTER TABLE watermill_forwarder_topic ALTER COLUMN payload SET STORAGE EXTERNAL`) // which is not compressed
	put(t, db, "", "first")
	src := newSource(t, db, wmforward.Config{})
	publishLarge(14)
	put(t, db, "", "last")
	s := acquire(t, src)
	var sizes, pages []int
	var ids, want []string
	for i := range 14 {
		want = append(want, "large-"+strconv.Itoa(i+1))
	}
	for {
		page, err := s.Read(t.Context(), 500)
		require.NoError(t, err)
		if len(page.Records) == 0 {
			break
		}
		pages = append(pages, len(page.Records))
		for i := range page.Records {
			sizes = append(sizes, len(page.Records[i].Payload))
			ids = append(ids, page.Records[i].ID)
		}
		require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
	}
	require.Equal(t, slices.Concat([]int{5}, slices.Repeat([]int{large}, 14), []int{4}), sizes)
	require.Equal(t, want, ids[1:len(ids)-1])
	require.Equal(t, []int{13, 3}, pages, "32 MiB of envelopes, in base64")
}
