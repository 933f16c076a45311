package admin_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
)

// FuzzRequest: what operators ask for is refused before it reaches the store, or selects in
// exactly one way.
func FuzzRequest(f *testing.F) {
	f.Add("ops", "deployed a fix", "loyalty", "orders", "customer-17", "", "", 10)
	f.Add("", " ", "", "orders", "", "", "", 1)
	f.Add("a", "b\x00", "c\xff", "", "", "id", "or", 0)
	f.Add("a", "b", "c", "", "key\x00\xff", "", "", 10_001)
	f.Fuzz(func(t *testing.T, actor, reason, consumer, topic, key, id, ofTopic string, limit int) {
		r := admin.ChangeRequest{
			By: admin.By{Actor: actor, Reason: reason}, Consumer: consumer,
			Selection: admin.Selection{Topic: topic, Key: key, ID: id, OfTopic: ofTopic, Limit: limit},
		}
		err := admin.Complete(&r)
		require.NotEmpty(t, r.String())
		if err != nil {
			require.ErrorIs(t, err, admin.ErrInvalidRequest)
			require.Regexp(t, "Actor|Reason|Consumer|select|Topic|Limit", err.Error())
			return
		}
		require.True(t, utf8.ValidString(actor+reason+consumer+topic+ofTopic))
		require.NotContains(t, actor+reason+consumer+topic+ofTopic, "\x00")
		require.NotEmpty(t, r.Consumer)
		require.Positive(t, r.Limit)
		require.LessOrEqual(t, r.Limit, 10_000)
		ways := 0
		for _, way := range []bool{key != "", id != "", ofTopic != ""} {
			if way {
				ways++
			}
		}
		require.Equal(t, 1, ways)
	})
}

func TestQueriesAreCompleted(t *testing.T) {
	t.Parallel()
	parked := admin.ParkedQuery{}
	redrive := admin.ChangeRequest{By: admin.By{Actor: "a", Reason: "r"}, Consumer: "c", Selection: admin.Selection{ID: "a"}}
	require.NoError(t, admin.Complete(&parked))
	require.Equal(t, 100, parked.Limit)
	require.NoError(t, admin.Complete(&redrive))
	require.Equal(t, 1000, redrive.Limit)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"state":     {admin.Complete(&admin.ParkedQuery{State: "lost"}), `State = "lost"`},
		"key":       {admin.Complete(&admin.ParkedQuery{Key: "k"}), "needs a Consumer"},
		"text":      {admin.Complete(&admin.ParkedQuery{Topic: "\xff"}), "Topic"},
		"limit":     {admin.Complete(&admin.AuditQuery{Limit: 10_001}), "Limit = 10001: must be 1 to 10000"},
		"action":    {admin.Complete(&admin.AuditQuery{Action: "\x00"}), "Action"},
		"attempts":  {admin.Complete(&admin.AttemptsQuery{}), "Consumer is empty"},
		"lookup":    {admin.Complete(&admin.LookupQuery{}), "ID is empty"},
		"consumers": {admin.Complete(&admin.ConsumersQuery{Limit: -1}), "Limit = -1"},
		"failures":  {admin.Complete(&admin.FailuresQuery{Topic: "\x00"}), "Topic"},
		"positions": {admin.Complete(&admin.PartitionsQuery{}), "Consumer is empty"},
		"skip":      {admin.Complete(&admin.SkipHeadRequest{By: admin.By{Actor: "a", Reason: "r"}, Consumer: "c"}), "Key is empty"},
		"drop":      {admin.Complete(&admin.ChangeRequest{Consumer: "c", Selection: admin.Selection{ID: "a"}}), "Actor is empty"},
	} {
		require.ErrorIs(t, tt.err, admin.ErrInvalidRequest, name)
		require.ErrorContains(t, tt.err, tt.want, name)
	}
}
