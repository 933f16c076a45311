package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Changes of records: nothing without a reason, nothing without --yes where nobody can be
// asked, dry runs that change nothing, and the audit of what was done.
func TestChanging_Held(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	changeHeld(t, s, o)
	o.golden("changing-held")
}

func changeHeld(t *testing.T, s store, o *session) {
	t.Helper()
	trouble(t, s)
	o.run(2, "parked", "redrive", "--topic", "orders*")
	o.run(2, "parked", "redrive", "--topic", "orders*", "--reason", "fixed")
	o.run(2, "parked", "redrive", "--reason", "fixed")
	o.run(2, "parked", "redrive", "--all", "--id", "m-2", "--reason", "fixed")
	o.run(3, "parked", "redrive", "--id", "nobody", "--reason", "fixed", "--yes")
	o.run(0, "parked", "redrive", "--topic", "orders*", "--reason", "fixed", "--dry-run")
	o.run(0, "parked", "redrive", "--topic", "orders*", "--kind", "outage", "--reason", "fixed", "--yes")
	o.run(0, "parked", "redrive", "--topic", "orders*", "--kind", "permanent", "--reason", "fixed", "--yes")
	o.run(0, "parked", "redrive", "--topic", "orders", "--key", "order-1", "--reason", "fixed", "--yes")
	o.run(0, "parked", "list", "--retrying", "--time", "utc")
	relayOnce(t, s, "", relay.Policy{}, ifBad(errors.New("still bad")))
	o.run(0, "parked", "skip", "--topic", "orders", "--key", "order-1", "--reason", "is obsolete", "--yes", "-o", "json")
	o.run(0, "parked", "drop", "--id", "m-5", "--reason", "is obsolete", "--dry-run", "-o", "json")
	o.run(0, "parked", "drop", "--id", "m-5", "--reason", "is obsolete", "--actor", "bob", "--yes")
	o.run(0, "parked", "list")
	o.run(0, "dead", "redrive", "--group", "mail", "--all", "--reason", "has room", "--yes")
	relayOnce(t, s, "mail", relay.Policy{Action: relay.DeadLetter}, func(outbox.Record) error { return errors.New("full again") })
	o.run(0, "dead", "drop", "--group", "mail", "--topic", "mails", "--reason", "is obsolete", "--yes", "-o", "jsonl")
	o.run(3, "dead", "show", "m-6", "--group", "mail")
	o.run(3, "delayed", "cancel", "nobody", "--reason", "paid", "--yes")
	o.run(0, "delayed", "cancel", "m-7", "--reason", "paid", "--dry-run")
	o.run(0, "delayed", "cancel", "m-7", "--reason", "paid", "--yes")
	o.run(0, "audit", "--action", "drop", "--time", "utc")
}

// A filter means all that match, whatever one transaction changes.
func TestChanging_AllThatMatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const keys = 7
	for i := range keys {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", fmt.Sprintf("order-%d", i), "bad"))
	}
	s.relay(t, "", ifBad(errors.New("no")))
	o := newSession(t, s.URL)
	r := o.leat("parked", "redrive", "--topic", "orders", "--chunk", "2", "--reason", "fixed", "--yes")
	require.Equal(t, "Redrove 7 records.\n", r.out, r.err)
	require.JSONEq(t, `{"v":1,"records":[]}`, o.leat("parked", "list", "-o", "json").out)
	s.relay(t, "", ifBad(errors.New("no")))
	r = o.leat("parked", "drop", "--all", "--chunk", "3", "--reason", "obsolete", "--yes")
	require.Equal(t, "Dropped 7 records.\n", r.out, r.err)
	require.JSONEq(t, `{"v":1,"records":[]}`, o.leat("parked", "list", "-o", "json").out)
}

// Lists go on where a page has ended, and --all has all of them once.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 5 {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", fmt.Sprintf("order-%d", i), "bad"))
	}
	s.relay(t, "", ifBad(errors.New("no")))
	o := newSession(t, s.URL)
	o.run(0, "parked", "list", "--limit", "2", "-o", "json")
	o.run(0, "parked", "list", "--limit", "2", "--after", "2", "--time", "utc")
	o.run(0, "parked", "keys", "--limit", "2", "--all", "-o", "jsonl")
	o.run(0, "messages", "search", "--limit", "2", "--all", "--time", "utc")
	o.run(0, "messages", "search", "--limit", "2", "--after", "4", "-o", "jsonl")
	o.golden("paging")
}

// Relay groups: paused, resumed, limited, removed.
func TestChanging_Groups(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	changeGroups(o)
	o.golden("changing-groups")
}

func changeGroups(o *session) {
	o.run(3, "groups", "pause", "nobody", "--reason", "INC-1", "--yes")
	o.run(0, "groups", "pause", "default", "--topic", "orders*", "--reason", "INC-1", "--dry-run")
	o.run(0, "groups", "pause", "default", "--topic", "orders*", "--topic", "mails", "--reason", "INC-1", "--yes")
	o.run(0, "status", "--group", "default")
	o.run(2, "groups", "resume", "default", "--topic", "parcels", "--reason", "INC-1", "--yes")
	o.run(0, "groups", "resume", "default", "--topic", "mails", "--reason", "INC-1", "--yes", "-o", "json")
	o.run(0, "groups", "resume", "default", "--reason", "INC-1", "--yes")
	o.run(2, "groups", "set-max-lag", "default", "long", "--reason", "disk")
	o.run(0, "groups", "set-max-lag", "default", "2d", "--reason", "disk", "--yes")
	o.run(0, "groups", "set-topics", "default", "--topic", "mails", "--reason", "orders are sent elsewhere", "--dry-run")
	o.run(0, "groups", "set-topics", "default", "--topic", "mails", "--reason", "orders are sent elsewhere", "--yes")
	o.run(0, "groups", "set-topics", "default", "--reason", "they are not", "--yes", "-o", "json")
	o.run(3, "groups", "set-topics", "nobody", "--reason", "r", "--yes")
	o.run(0, "groups", "rename", "default", "main", "--reason", "there are two", "--dry-run")
	o.run(2, "groups", "rename", "default", "mail", "--reason", "there are two", "--yes")
	o.run(0, "groups", "rename", "default", "main", "--reason", "there are two", "--yes")
	o.run(3, "groups", "rename", "default", "main", "--reason", "there are two", "--yes")
	o.run(0, "groups", "rename", "main", "default", "--reason", "there is one", "--yes", "-o", "json")
	o.run(0, "groups", "remove", "mail", "--reason", "is obsolete", "--dry-run")
	o.run(2, "groups", "remove", "mail", "--reason", "is obsolete")
	o.run(0, "groups", "remove", "default", "--reason", "is obsolete", "--yes")
	o.run(3, "groups", "show", "default")
	o.run(0, "audit", "--action", "pause", "--time", "utc")
}

// What an inbox has parked, and the positions that it remembers.
func TestChanging_Inbox(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.consume(t)
	o := newSession(t, s.URL)
	redrive := []string{"inbox", "parked", "redrive", "--consumer", "loyalty", "--reason", "imported"}
	o.run(2, redrive...)
	o.run(2, append(redrive, "--all")...)
	o.run(0, append(redrive, "--all", "--chunk", "1", "--dry-run")...)
	o.run(0, append(redrive, "--key", "order-2", "--yes")...)
	o.run(4, append(redrive, "--key", "order-2", "--yes")...)
	o.run(3, append(redrive, "--id", "nobody", "--yes")...)
	o.run(3, "inbox", "parked", "drop", "--consumer", "nobody", "--all", "--reason", "x", "--yes")
	o.run(0, "inbox", "parked", "skip", "--consumer", "loyalty", "--key", "order-3", "--reason", "obsolete", "--yes", "-o", "json")
	o.run(0, "inbox", "parked", "drop", "--consumer", "loyalty", "--all", "--reason", "obsolete", "--yes")
	o.run(0, "inbox", "parked", "list", "--time", "utc")
	set := []string{"inbox", "watermarks", "set", "--consumer", "stock", "--topic", "orders", "--source", logID, "--partition", "0", "--reason", "INC-2"}
	o.run(0, append(set, "--next", "3", "--dry-run")...)
	o.run(0, append(set, "--next", "3", "--yes")...)
	o.run(2, append(set, "--next", "-1", "--yes")...)
	o.run(0, "inbox", "watermarks", "accept", "--consumer", "stock", "--topic", "orders", "--source", "7c0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90", "--reason", "moved", "--yes", "-o", "json")
	o.run(0, "inbox", "watermarks", "list", "--consumer", "stock")
	o.run(0, "inbox", "watermarks", "remove", "--consumer", "stock", "--topic", "orders", "--source", logID, "--partition", "0", "--reason", "gone", "--yes")
	o.run(0, "inbox", "retention", "enable", "--retention", "14d", "--dry-run")
	o.run(0, "inbox", "retention", "enable", "--retention", "14d", "--yes", "-o", "json")
	lower := []string{"inbox", "retention", "lower", "--reason", "clocks were wrong"}
	o.run(2, append(lower, "--dry-run")...) // it is not ahead
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.inbox_retention SET floor = '0fffffff-0000-0000-0000-000000000000'")
	require.NoError(t, err)
	o.run(2, append(lower, "--to", "2026-01-05", "--dry-run")...)
	o.run(0, append(lower, "--yes", "-o", "json")...)
	o.run(0, "inbox", "audit", "--action", "lower_floor", "--time", "utc")
	o.run(0, "inbox", "audit", "--action", "drop", "--time", "utc")
	o.golden("changing-inbox")
}

// A group whose positions belong to another cluster.
func TestRebase(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	s.relay(t, "", nothing)
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1")
	require.NoError(t, err)
	o := newSession(t, s.URL)
	rebase := []string{"rebase", "--group", "default", "--reason", "restored"}
	o.run(2, rebase...)
	o.run(2, append(rebase, "--keep-position", "--start", "now")...)
	o.run(2, append(rebase, "--start", "yesterday")...)
	o.run(2, "rebase", "--all-groups", "--start", "oldest", "--reason", "restored", "--yes")
	o.run(3, "rebase", "--group", "nobody", "--start", "now", "--reason", "restored", "--yes")
	o.run(0, append(rebase, "--start", "oldest", "--dry-run")...)
	later := placed("m-3", "orders", "order-1", "fine")
	later.NotBefore = time.Now().Add(time.Hour)
	s.enqueue(t, placed("m-2", "orders", "order-1", "fine"), later)
	o.run(0, append(rebase, "--start", "now", "--dry-run")...)
	o.run(0, append(rebase, "--start", "oldest", "--dry-run", "-o", "json")...)
	o.run(0, append(rebase, "--start", "unsettled", "--dry-run")...)
	o.run(2, append(rebase, "--start", "now", "--yes")...)
	o.run(2, append(rebase, "--start", "now", "--leave-out=-1")...)
	o.run(2, append(rebase, "--start", "now", "--leave-out", "1")...)
	_, err = s.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET lease_until = clock_timestamp() + interval '1 hour', owner = 'web-1' WHERE slot = 0")
	require.NoError(t, err)
	o.run(4, append(rebase, "--start", "now", "--yes")...)
	_, err = s.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	require.NoError(t, err)
	o.run(0, append(rebase, "--start", "oldest", "--yes")...)
	o.run(0, "audit", "--action", "rebase", "--time", "utc")
	o.golden("rebase")
}

// Schemas, from nothing to the latest version.
func TestMigrate(t *testing.T) {
	t.Parallel()
	s := newShopWithout(t)
	o := newSession(t, s.URL)
	o.run(1, "status")
	o.run(5, "migrate", "status", "--component", "outbox", "--component", "dedupe")
	o.run(0, "migrate", "up", "--dry-run")
	o.run(2, "migrate", "up")
	o.run(2, "migrate", "up", "--component", "cellar", "--yes")
	o.run(0, "migrate", "up", "--yes")
	o.run(0, "migrate", "up", "--component", "dedupe", "--yes", "-o", "json")
	o.run(0, "migrate", "status", "-o", "jsonl")
	o.run(0, "status")
	o.golden("migrate-up")
	files := newSession(t, "").leat("migrate", "sql", "--component", "dedupe", "-o", "json", "--schema", "shop")
	require.Zero(t, files.code, files.err)
	require.Contains(t, files.out, `CREATE SCHEMA IF NOT EXISTS \"shop\"`)
}

// A round of maintenance.
func TestRetentionRun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	s.relay(t, "", nothing)
	o := newSession(t, s.URL)
	o.run(2, "retention", "run")
	o.run(2, "retention", "run", "--retention", "long")
	o.run(2, "retention", "run", "--retention", "7d")
	o.run(2, "retention", "run", "--retention", "7d", "--yes")
	o.run(2, "retention", "run", "--retention", "7d", "--without-archive")
	o.run(2, "retention", "run", "--retention", "7d", "--without-archive", "--yes", "--ahead", "101")
	o.run(2, "retention", "run", "--retention", "7d", "--no-ddl", "--dry-run")
	o.run(0, "retention", "run", "--retention", "7d", "--without-archive", "--yes")
	o.run(0, "retention", "run", "--retention", "forever", "--without-archive", "--partition-size", "5000", "--ahead", "3", "--yes", "-o", "json")
	o.golden("retention-run")
}

// A dry run names the ranges that the round then drops, and the groups that are past
// their greatest lag: old ones that no other group holds back.
func TestRetentionRun_Drops(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.relay(t, "late", nothing)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.outbox SET created_at = now() - interval '30 days'")
	require.NoError(t, err)
	ranges, err := s.ob.Admin().Ranges(t.Context())
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), $1)", ranges[1].From+5)
	require.NoError(t, err)
	s.enqueue(t, placed("m-2", "orders", "order-1", "fine"))
	o := newSession(t, s.URL)
	run := []string{"retention", "run", "--retention", "7d"}
	s.relay(t, "", ifBad(nil))
	require.Equal(t, "Would drop: –\n", o.leat(append(run, "--dry-run")...).out)
	require.Zero(t, o.leat("groups", "set-max-lag", "late", "1d", "--reason", "disk", "--yes").code)
	r := o.leat(append(run, "--dry-run")...)
	require.Equal(t, "Would drop: "+ranges[0].Table+"\n", r.out, r.err)
	require.Contains(t, r.err, "losing what they have not sent: late.")
	r = o.leat("retention", "run", "--retention", "60d", "--dry-run")
	require.Equal(t, "Would drop: –\n", r.out, r.err)
	run = append(run, "--without-archive")
	r = o.answer("n", run...)
	require.Equal(t, 4, r.code)
	require.Contains(t, r.err, "losing what they have not sent: late. Go on?")
	producer, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = producer.Exec(t.Context(), "LOCK TABLE leat.outbox IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	r = o.leat(append(run, "--yes", "-o", "json")...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.out, `"busy":true`)
	require.NoError(t, producer.Rollback(t.Context()))
	r = o.leat(append(run, "--yes", "-o", "json")...)
	require.Contains(t, r.out, `"dropped":["`+ranges[0].Table+`"`, r.err)
}

// What an export has written is all that there is, byte for byte.
func TestExport(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "\x00\xff"), placed("m-2", "orders", "order-1", "é"))
	o := newSession(t, s.URL)
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	r := o.leat("messages", "export", "--file", file)
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.out)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(written), `"payload_base64":"AP8="`)
	require.Contains(t, string(written), `"payload":"é"`)
	require.Equal(t, 2, o.leat("messages", "export", "--file", file).code, "it is there")
	require.Equal(t, "\x00\xff", o.leat("messages", "show", "m-1", "--since", "1h", "--raw").out)
}
