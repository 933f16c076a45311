package erase_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A message is selected by key and topic, by id, or by a header; nothing else is.
func TestRequest_Matches(t *testing.T) {
	t.Parallel()
	none := func() map[string]string { return nil }
	byKey := driver.EraseRequest{Key: "ann", Topic: "mail*"}
	require.True(t, erase.Matches(&byKey, "m-1", "mails", "ann", none))
	require.False(t, erase.Matches(&byKey, "m-1", "orders", "ann", none))
	require.False(t, erase.Matches(&byKey, "m-1", "mails", "anna", none))
	require.False(t, erase.Matches(&byKey, "m-1", "mails", "", none))
	require.False(t, erase.Matches(&driver.EraseRequest{Topic: "*"}, "m-1", "mails", "", none), "a topic alone selects nothing")
	byID := erase.With(driver.EraseRequest{}, []string{"m-2", "m-1", "m-2"})
	require.Equal(t, []string{"m-1", "m-2"}, byID.IDs)
	require.True(t, erase.Matches(&byID, "m-2", "mails", "", none))
	require.False(t, erase.Matches(&byID, "", "mails", "", none))
	byHeader := driver.EraseRequest{Header: "user", Value: ""}
	require.False(t, erase.Matches(&byHeader, "m-1", "mails", "", none), "no such header")
	require.True(t, erase.Matches(&byHeader, "m-1", "mails", "", func() map[string]string { return map[string]string{"user": ""} }))
}

// Ids are kept once each, in order.
func TestFound(t *testing.T) {
	t.Parallel()
	var f driver.Erased
	for _, id := range []string{"b", "a", "b", ""} {
		erase.Add(&f, erase.Log, id, "orders")
	}
	erase.Count(&f, erase.Audit, 0)
	require.Equal(t, []string{"a", "b"}, f.IDs)
	require.Equal(t, map[string]int{erase.Log: 4}, f.Rows)
	require.Equal(t, map[string]int{"orders": 4}, f.Topics)
}

// What selects nothing is refused, and so is a reason that would keep what is erased.
func TestCheck(t *testing.T) {
	t.Parallel()
	ok := driver.EraseRequest{Actor: "ops", Reason: "request 17", Key: "ann"}
	require.NoError(t, erase.Check(&ok))
	for name, change := range map[string]func(r *driver.EraseRequest){
		"nothing":      func(r *driver.EraseRequest) { r.Key = "" },
		"topic alone":  func(r *driver.EraseRequest) { r.Key, r.Topic, r.IDs = "", "orders", []string{"m-1"} },
		"header alone": func(r *driver.EraseRequest) { r.Header = "user" },
		"no actor":     func(r *driver.EraseRequest) { r.Actor = "" },
		"no reason":    func(r *driver.EraseRequest) { r.Reason = "" },
		"names key":    func(r *driver.EraseRequest) { r.Reason = "Ann has asked" },
		"names value":  func(r *driver.EraseRequest) { r.Header, r.Value, r.Reason = "user", "smith", "Smith has asked" },
	} {
		r := ok
		change(&r)
		require.ErrorIs(t, erase.Check(&r), admin.ErrInvalidRequest, name)
	}
}
