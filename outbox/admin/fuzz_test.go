package admin_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// FuzzRequest: what operators ask for is refused before it reaches the database, or
// selects in exactly one way.
func FuzzRequest(f *testing.F) {
	f.Add("ops", "deployed a fix", "orders", "customer-17", "", "", "", 10)
	f.Add("", " ", "orders", "", "", "", "", 1)
	f.Add("a", "b\x00", "", "", "id", "or*", "kind", 0)
	f.Add("a", "b", "", "", "", "or*", "permanent", 0)
	f.Fuzz(func(t *testing.T, actor, reason, topic, key, id, pattern, kind string, limit int) {
		by, sel := admin.By{Actor: actor, Reason: reason}, admin.Selection{Topic: topic, Key: key, ID: id, Topics: pattern, Kind: kind, Limit: limit}
		if err := admin.Complete(&by); err != nil {
			require.ErrorIs(t, err, admin.ErrInvalidRequest)
			require.Regexp(t, "Actor|Reason", err.Error())
		} else {
			require.NotEmpty(t, strings.TrimSpace(actor))
			require.True(t, utf8.ValidString(actor+reason))
		}
		require.NotEmpty(t, sel.String())
		r := admin.ChangeRequest{By: admin.By{Actor: "a", Reason: "r"}, Selection: sel}
		if err := admin.Complete(&r); err != nil {
			require.ErrorIs(t, err, admin.ErrInvalidRequest)
			return
		}
		require.True(t, utf8.ValidString(topic+key+id+pattern+kind))
		require.NotContains(t, topic+key+id+pattern+kind, "\x00")
		require.Positive(t, r.Limit)
		require.Equal(t, 1, count(key != "", id != "", pattern != "" || kind != ""))
	})
}

func count(ways ...bool) (n int) {
	for _, way := range ways {
		if way {
			n++
		}
	}
	return n
}
