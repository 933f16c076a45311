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
		r, err := admin.RedriveRequest{
			By: admin.By{Actor: actor, Reason: reason}, Consumer: consumer,
			Selection: admin.Selection{Topic: topic, Key: key, ID: id, OfTopic: ofTopic, Limit: limit},
		}.Complete()
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
	parked, err := admin.ParkedQuery{}.Complete()
	require.NoError(t, err)
	require.Equal(t, 100, parked.Limit)
	selection, err := admin.Selection{ID: "a"}.Complete()
	require.NoError(t, err)
	require.Equal(t, 1000, selection.Limit)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"state":     {second(admin.ParkedQuery{State: "lost"}.Complete()), `State = "lost"`},
		"key":       {second(admin.ParkedQuery{Key: "k"}.Complete()), "needs a Consumer"},
		"text":      {second(admin.ParkedQuery{Topic: "\xff"}.Complete()), "Topic"},
		"limit":     {second(admin.AuditQuery{Limit: 10_001}.Complete()), "Limit = 10001: must be 1 to 10000"},
		"action":    {second(admin.AuditQuery{Action: "\x00"}.Complete()), "Action"},
		"attempts":  {second(admin.AttemptsQuery{}.Complete()), "Consumer is empty"},
		"lookup":    {second(admin.LookupQuery{}.Complete()), "ID is empty"},
		"consumers": {second(admin.ConsumersQuery{Limit: -1}.Complete()), "Limit = -1"},
		"failures":  {second(admin.FailuresQuery{Topic: "\x00"}.Complete()), "Topic"},
		"positions": {second(admin.PartitionsQuery{}.Complete()), "Consumer is empty"},
		"skip":      {second(admin.SkipHeadRequest{By: admin.By{Actor: "a", Reason: "r"}, Consumer: "c"}.Complete()), "Key is empty"},
		"drop":      {second(admin.DropRequest{Consumer: "c", Selection: admin.Selection{ID: "a"}}.Complete()), "Actor is empty"},
	} {
		require.ErrorIs(t, tt.err, admin.ErrInvalidRequest, name)
		require.ErrorContains(t, tt.err, tt.want, name)
	}
}

func second[T any](_ T, err error) error { return err }
