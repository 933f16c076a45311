package erase_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/erase"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A message is selected by key and topic, by id, or by a header; nothing else is.
func TestRequest_Matches(t *testing.T) {
	t.Parallel()
	none := func() map[string]string { return nil }
	byKey := erase.Request{Key: "ann", Topic: "mail*"}
	require.True(t, byKey.Matches("m-1", "mails", "ann", none))
	require.False(t, byKey.Matches("m-1", "orders", "ann", none))
	require.False(t, byKey.Matches("m-1", "mails", "anna", none))
	require.False(t, byKey.Matches("m-1", "mails", "", none))
	require.False(t, erase.Request{Topic: "*"}.Matches("m-1", "mails", "", none), "a topic alone selects nothing")
	byID := erase.Request{}.With([]string{"m-2", "m-1", "m-2"})
	require.Equal(t, []string{"m-1", "m-2"}, byID.IDs)
	require.True(t, byID.Matches("m-2", "mails", "", none))
	require.False(t, byID.Matches("", "mails", "", none))
	byHeader := erase.Request{Header: "user", Value: ""}
	require.False(t, byHeader.Matches("m-1", "mails", "", none), "no such header")
	require.True(t, byHeader.Matches("m-1", "mails", "", func() map[string]string { return map[string]string{"user": ""} }))
}

// Ids are kept once each, in order.
func TestFound(t *testing.T) {
	t.Parallel()
	var f erase.Found
	for _, id := range []string{"b", "a", "b", ""} {
		f.Add(erase.Log, id, "orders")
	}
	f.Count(erase.Audit, 0)
	require.Equal(t, []string{"a", "b"}, f.IDs)
	require.Equal(t, map[string]int{erase.Log: 4}, f.Rows)
	require.Equal(t, map[string]int{"orders": 4}, f.Topics)
}
