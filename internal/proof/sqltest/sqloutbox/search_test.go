package sqloutbox_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestSearchFindsLargeMessages: all large messages are found, although one statement does not read all of
// them.
func TestSearchFindsLargeMessages(t *testing.T) {
	t.Parallel()
	ob, err := sqloutbox.New(sqltest.SQLite(t), outbox.SQLite, sqloutbox.Config{MaxPayloadBytes: 10 << 20})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	large := bytes.Repeat([]byte("x"), 9<<20)
	for range 5 {
		commit(t, ob, outbox.Message{ID: "one", Topic: "t", Payload: large, Headers: map[string]string{"a": "b"}})
	}
	all := map[bool][]int64{false: {1, 2, 3, 4, 5}, true: {5, 4, 3, 2, 1}}
	numbers := func(records []outbox.Record) (seqs []int64) {
		for i := range records {
			seqs = append(seqs, records[i].Seq)
		}
		return seqs
	}
	for newest, want := range all {
		page, err := ob.Admin().Search(t.Context(), admin.MessageQuery{Topic: "t", Newest: newest})
		require.NoError(t, err)
		require.Equal(t, want, numbers(page.Records))
		require.True(t, bytes.Equal(large, page.Records[4].Payload))
	}
	page, err := ob.Admin().Search(t.Context(), admin.MessageQuery{Topic: "t", OmitPayload: true})
	require.NoError(t, err)
	require.Equal(t, all[false], numbers(page.Records))
	require.Empty(t, page.Records[4].Payload)
	require.Empty(t, page.Records[4].Headers)
	trace, err := ob.Admin().Trace(t.Context(), admin.TraceQuery{ID: "one", Since: time.Now().Add(-time.Hour)})
	require.NoError(t, err)
	var traced []int64
	for i := range trace.Messages {
		traced = append(traced, trace.Messages[i].Seq)
	}
	require.Equal(t, all[false], traced)
}
