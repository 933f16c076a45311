package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each command that looks, as a table and as JSON.
func TestLooking(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.consume(t)
	for name, commands := range map[string][][]string{
		"status":    {{"status"}, {"status", "--group", "mail"}},
		"groups":    {{"groups", "list"}, {"groups", "show", "default"}},
		"parked":    {{"parked", "list"}, {"parked", "list", "--topic", "orders.*"}, {"parked", "list", "--retrying"}, {"parked", "keys"}, {"parked", "errors"}, {"parked", "show", "m-2"}},
		"dead":      {{"dead", "list", "--group", "mail"}, {"dead", "errors", "--group", "mail"}, {"dead", "show", "m-6", "--group", "mail"}},
		"delayed":   {{"delayed", "list"}, {"delayed", "show", "m-7"}},
		"messages":  {{"messages", "search"}, {"messages", "search", "--topic", "orders*", "--newest", "--limit", "2"}, {"messages", "show", "m-1", "--since", "1h"}, {"messages", "export", "--key", "ann"}},
		"trace":     {{"trace", "m-1", "--since", "1h"}, {"trace", "m-2", "--since", "1h"}, {"trace", "m-3", "--since", "1h"}, {"trace", "m-6", "--since", "1h"}, {"trace", "m-7", "--since", "1h"}},
		"audit":     {{"audit"}, {"audit", "--group", "mail"}, {"audit", "--newest", "--limit", "1"}},
		"retention": {{"retention", "ranges"}, {"retention", "run", "--retention", "7d", "--dry-run"}},
		"migrate":   {{"migrate", "status"}},
		"inbox": {
			{"inbox", "status"},
			{"inbox", "consumers"},
			{"inbox", "lookup", "m-1"},
			{"inbox", "lookup", "m-2", "--consumer", "loyalty"},
			{"inbox", "attempts", "--consumer", "billing"},
			{"inbox", "audit"},
			{"inbox", "retention", "show"},
		},
		"inbox-parked": {
			{"inbox", "parked", "list"},
			{"inbox", "parked", "list", "--consumer", "loyalty", "--state", "parked"},
			{"inbox", "parked", "errors"},
			{"inbox", "parked", "show", "m-2"},
		},
		"inbox-watermarks": {{"inbox", "watermarks", "list", "--consumer", "stock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := newSession(t, s.URL)
			for _, command := range commands {
				session.run(0, append(command, "--time", "utc")...)
				session.run(0, append(command, "-o", "json")...)
			}
			session.golden(name)
		})
	}
}

// --since is named where it is what is missing, and nowhere else.
func TestLooking_Since(t *testing.T) {
	t.Parallel()
	o := newSession(t, newShop(t).URL)
	const hint = "--since 24h"
	for _, command := range [][]string{{"messages", "show"}, {"trace"}} {
		r := o.leat(append(command, "m-1")...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.err, hint)
		r = o.leat(append(command, "")...)
		require.Equal(t, 2, r.code, r.err)
		require.NotContains(t, r.err, hint)
	}
	r := newSession(t, newShopWithout(t).URL).leat("messages", "show", "m-1", "--since", "1h")
	require.Equal(t, 1, r.code, r.err)
	require.NotContains(t, r.err, hint)
}
