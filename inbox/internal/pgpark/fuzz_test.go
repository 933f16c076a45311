package pgpark

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/storable"
)

// FuzzKeyHash: a message that is parked is found by the topic as it was stored, which
// is text, whatever it was before.
func FuzzKeyHash(f *testing.F) {
	f.Add("orders", "customer-17")
	f.Add("a\x00b", "\xff")
	f.Add("\xff", "")
	s := &Store{inbox: Inbox{Consumer: pgclaim.Consumer{Name: "c", Table: `"leat"."inbox"`}}}
	f.Fuzz(func(t *testing.T, topic, key string) {
		stored := storable.Text(topic)
		require.True(t, utf8.ValidString(stored))
		require.NotContains(t, stored, "\x00")
		require.Equal(t, stored, storable.Text(stored))
		hash := s.hash(driver.Key{Topic: topic, Name: key})
		require.Equal(t, key != "", hash.Valid)
		require.Equal(t, hash, s.hash(driver.Key{Topic: stored, Name: key}))
	})
}
