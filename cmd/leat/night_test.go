package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// files is a file of two outboxes, in one database.
const files = `
outboxes:
  - {name: shop, relays: [{sink: {kafka: {}}}]}
  - {name: billing, table: billing, relays: [{sink: {kafka: {}}}]}
kafka: {brokers: '127.0.0.1:1', password: '${env:ONLY_THE_DAEMON_HAS_IT}'}
inboxes: [{name: in}]
`

// Every command knows the outboxes of the file by their names, without the secrets of the
// daemon's destinations, and a name that is wrong is told.
func TestNight_NamesOfTheFile(t *testing.T) {
	t.Parallel()
	s := newShopWithout(t)
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_CONFIG="+written(t, "leat.yaml", files))
	up := o.leat("migrate", "up", "--yes")
	require.Equal(t, 0, up.code, up.err)
	for _, part := range []string{"outbox shop", "outbox billing", "inbox in"} {
		require.Contains(t, up.out, part)
	}
	billing, err := pgoutbox.New(s.Pool, pgoutbox.Config{Table: "billing"})
	require.NoError(t, err)
	require.NoError(t, billing.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return billing.Enqueue(ctx, tx, outbox.Message{ID: "b-1", Topic: "bills", Payload: []byte("x")})
	}))
	search := o.leat("messages", "search", "--outbox", "billing")
	require.Equal(t, 0, search.code, search.err)
	require.Contains(t, search.out, "b-1")
	require.NotContains(t, o.leat("messages", "search", "--outbox", "shop").out, "b-1")
	wrong := o.leat("status", "--outbox", "typo")
	require.Equal(t, 2, wrong.code)
	require.Contains(t, wrong.err, `"shop" "billing"`)

	all := o.leat("status", "--all", "-o", "json")
	require.Equal(t, 0, all.code, all.err)
	var status struct {
		Outboxes []struct {
			Outbox  string `json:"outbox"`
			LastSeq int    `json:"last_seq"`
		} `json:"outboxes"`
	}
	require.NoError(t, json.Unmarshal([]byte(all.out), &status))
	require.Len(t, status.Outboxes, 2)
	require.Equal(t, "billing", status.Outboxes[1].Outbox)
	require.Equal(t, 1, status.Outboxes[1].LastSeq)
	require.Contains(t, o.leat("status", "--all").out, "Outbox billing")
	found := o.leat("doctor", "--all", "--only", "schema.outbox")
	require.Equal(t, 0, found.code, found.err)
	require.Contains(t, found.out, "billing: schema.outbox")
	plain := newSession(t, s.URL).leat("status", "--all")
	require.Equal(t, 2, plain.code)
}

// Who only reads needs none of the secrets for what is beside the database; who connects there is told which is missing.
func TestNight_SecretsOfTheDaemon(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_CONFIG="+written(t, "leat.yaml", strings.Replace(files, "table: billing, ", "schema: billing, ", 1)+"registry: 'http://ann:${env:NOR_THIS}@registry:8081'\n"))
	for _, args := range [][]string{
		{"status", "--outbox", "shop"},
		{"trace", "m-1", "--since", "1h", "--outbox", "shop"},
		{"parked", "list", "--outbox", "shop"},
		{"groups", "list", "--outbox", "shop"},
		{"audit", "--outbox", "shop"},
		{"delayed", "list", "--outbox", "shop"},
		{"replay", "--reason", "r", "--dry-run", "--outbox", "shop"},
		{"parked", "redrive", "--all", "--reason", "r", "--yes", "--outbox", "shop"},
	} {
		r := o.leat(args...)
		require.Equal(t, 0, r.code, "%q: %s", args, r.err)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "kafka.password: ${env:ONLY_THE_DAEMON_HAS_IT}: the variable ONLY_THE_DAEMON_HAS_IT is not set", []string{"replay", "--reason", "r", "--yes", "--outbox", "shop"}},
		{2, "registry: ${env:NOR_THIS}: the variable NOR_THIS is not set", []string{"parked", "show", "m-2", "--outbox", "shop"}},
		{2, "the variable NOR_THIS is not set", []string{"config", "show"}},
		{0, "kafka.reachable unknown", []string{"doctor", "--only", "kafka.reachable", "--outbox", "shop"}},
		{0, "look with the variables and files that the daemon has", []string{"doctor", "--only", "kafka.reachable", "--outbox", "shop"}},
		{0, "ONLY_THE_DAEMON_HAS_IT is not set", []string{"doctor", "--only", "sinks.reachable", "--outbox", "shop"}},
		{0, "not known: ", []string{"bundle"}},
	} {
		r := o.leat(c.args...)
		require.Equal(t, c.code, r.code, "%q: %s%s", c.args, r.out, r.err)
		require.Contains(t, flat(r.out+" "+r.err), c.says, "%q", c.args)
	}
}

// A group that does not exist is told wherever one is named.
func TestNight_MisspeltGroup(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	for _, command := range [][]string{
		{"parked", "list"},
		{"parked", "keys"},
		{"parked", "errors"},
		{"parked", "show", "m-2"},
		{"dead", "list"},
		{"parked", "redrive", "--all", "--reason", "r", "--yes"},
		{"parked", "drop", "--all", "--reason", "r", "--yes"},
		{"replay", "--reason", "r", "--dry-run"},
	} {
		r := o.leat(append(command, "--group", "defalt")...)
		require.Equal(t, 3, r.code, "%q: %s", command, r.out)
		require.Contains(t, r.err, `"defalt", but ["default" "mail"]`, command)
	}
}

// Nobody is advised to remove the only groups because their relays do not run.
func TestNight_NoRelayIsNoReasonToRemove(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	r := newSession(t, s.URL).leat("doctor", "--only", "outbox.groups")
	require.Contains(t, r.out, "start its relays")
	require.NotContains(t, r.out, "groups remove")
}

// What was redriven under a name that no handler has any more is not forgotten.
func TestI1_RedrivenUnderAnOldNameIsSeen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.consume(t)
	o := newSession(t, s.URL)
	require.Zero(t, o.leat("inbox", "parked", "redrive", "--consumer", "loyalty", "--reason", "r", "--all", "--yes").code)
	r := o.leat("doctor", "--only", "inbox.parked")
	require.Contains(t, r.out, "not run yet")
	require.Contains(t, r.out, "does the service run that redrives for this name")
}

// Parking was the last that a handler did before it was renamed. What is redriven under its old name
// a little later waits, and the redrive says so.
func TestI1_RedriveUnderAnOldNameSaysSo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := s.inbox(t, "loyalty", inbox.Config{})
	require.NoError(t, in.Migrate(t.Context()))
	s.parkInbox(t, "m-1", "k")
	o := newSession(t, s.URL)
	redrive := []string{"inbox", "parked", "redrive", "--consumer", "loyalty", "--reason", "r", "--all", "--dry-run"}
	r := o.leat(redrive...)
	require.Zero(t, r.code, r.err)
	require.NotContains(t, r.err, "has done nothing")
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.inbox_parked SET parked_at = parked_at - interval '10 minutes'")
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "UPDATE leat.inbox_attempts SET last_at = last_at - interval '10 minutes'")
	require.NoError(t, err)
	r = o.leat(redrive...)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "Consumer loyalty has done nothing for 10m")
}

// A group that nobody reads is not to be removed while messages wait for it.
func TestO2_RemovingAGroupTellsWhatItLeaves(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	src, err := s.ob.Source(pgoutbox.SourceConfig{Group: "mail"})
	require.NoError(t, err)
	session, err := src.Acquire(t.Context(), time.Hour) // another group lives
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
	o := newSession(t, s.URL)
	r := o.leat("doctor", "--only", "outbox.groups")
	require.Contains(t, r.out, "nobody else sends the ")
	require.NotContains(t, r.out, "groups remove default")
}

// Relays that are configured differently are named by doctor, status and the group, with what each of them does.
func TestO6_PoliciesThatDifferAreShown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	src, err := s.ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	session, err := src.Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
	o := newSession(t, s.URL)
	says := map[string][]string{
		"doctor --only outbox.groups": {"group default: its relays have different policies", "*: park after 10 | mails: park after 3, *: skip after 1"},
		"status":                      {"policies differ"},
	}
	for command, parts := range says {
		for _, part := range parts {
			require.NotContains(t, o.leat(strings.Fields(command)...).out, part)
		}
	}
	keeper, ok := src.(driver.PolicyKeeper)
	require.True(t, ok)
	kept, err := keeper.KeepPolicies(t.Context(), func(_ string, now time.Time) string {
		until := now.Add(time.Hour).UnixMicro()
		return fmt.Sprintf(`{"a": {"policies": [{"topics": "mails", "action": "park", "attempts": 3}, {"topics": "*", "action": "skip", "attempts": 1}], "until": %d},
			"b": {"policies": [{"topics": "*", "action": "park", "attempts": 10}], "until": %d},
			"killed": {"policies": [{"topics": "*", "action": "block", "attempts": 10}], "until": 1}}`, until, until)
	})
	require.NoError(t, err)
	require.True(t, kept)
	says["groups show default"] = []string{"policies", "*: park after 10"}
	for command, parts := range says {
		for _, part := range parts {
			require.Contains(t, o.leat(strings.Fields(command)...).out, part, command)
		}
	}
	require.NotContains(t, o.leat("groups", "show", "default").out, "block")
	o.recipe("Policies that differ")
}

// hanging is a daemon whose destination never answers, with one message under way.
func hanging(t *testing.T) *running {
	t.Helper()
	s := newShop(t)
	asked, over := make(chan struct{}, 100), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	t.Cleanup(func() {
		close(over)
		hangs.Close()
	})
	config := written(t, "leat.yaml", fmt.Sprintf(`
http: {listen: '127.0.0.1:0'}
outboxes:
  - name: shop
    relays:
      - publish_timeout: 2s
        lease: 20s
        drain_timeout: 8s
        sink:
          http:
            allow_http: true
            allow_networks: [127.0.0.0/8]
            endpoints: {orders: {url: '%s', secrets: ['%s']}}
`, hangs.URL, httpsink.NewSecret()))
	d := newSession(t, s.URL).begin("run", "--config", config)
	s.enqueue(t, placed("m-1", "orders", "k", "fine"))
	<-asked
	return d
}

// Two signals at the same time, as timeout sends them to a process and to its group, are one:
// the daemon drains.
func TestNight_TwoSignalsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	d := hanging(t)
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
	require.NotContains(t, d.log.String(), "ends without draining")
}

// A daemon whose inbox has no retention enabled is ready, and says so.
func TestNight_ReadyWithoutRetention(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in, err := pginbox.New(s.Pool, "loyalty", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	config := written(t, "leat.yaml", `
http: {listen: '127.0.0.1:0'}
inboxes: [{name: in, retention: 336h}]
`)
	d := newSession(t, s.URL).begin("run", "--config", config)
	d.answers("/readyz", 200)
	d.eventually("says what is missing", func() bool {
		parts := d.status().Parts
		return len(parts) == 1 && parts[0].State == "degraded" && strings.Contains(parts[0].Reason, "retention enable")
	})
	d.answers("/readyz", 200)
}

// To drop by topic tells what waits behind, and drops it only if that is asked for.
func TestNight_DropTellsWhatWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 3 {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", "ann", "bad"))
	}
	s.enqueue(t, placed("n-1", "orders", "", "bad"))
	s.relay(t, "default", ifBad(errors.New("no schema")))
	o := newSession(t, s.URL)
	drop := []string{"parked", "drop", "--topic", "orders", "--reason", "r"}
	plan := o.leat(append(drop, "--dry-run")...)
	require.Equal(t, 0, plan.code, plan.err)
	require.Contains(t, plan.out, "2 records")
	require.Contains(t, plan.out, "2 records more behind them")
	all := o.leat(append(drop, "--with-waiting", "--dry-run")...)
	require.Equal(t, 0, all.code, all.err)
	require.Contains(t, all.out, "4 records")
	all = o.leat(append(drop, "--with-waiting", "--yes")...)
	require.Equal(t, 0, all.code, all.err)
	require.Contains(t, all.out, "Dropped 4 records")
	require.Contains(t, o.leat("parked", "list").err, "No record is parked")
	require.Equal(t, 2, o.leat(append(drop, "--with-waiting", "--kind", "permanent", "--yes")...).code)
}

// --version needs no command, no database and no file.
func TestNight_Version(t *testing.T) {
	t.Parallel()
	r := newSession(t, "").leat("--version")
	require.Equal(t, 0, r.code, r.err)
	require.NotEmpty(t, strings.TrimSpace(r.out))
}

// Each command that tells how a group or a message is says why it is not sent: status, trace and
// doctor, by what the leader has stored.
func TestNight_WhatIsOut(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "crm-feed", "ann", "fine"))
	session, err := s.source(t, "default").Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
	holder, ok := session.(driver.Holder)
	require.True(t, ok)
	page, err := holder.Read(t.Context(), 10)
	require.NoError(t, err)
	require.NoError(t, holder.Hold(t.Context(), page, 1, []driver.Holding{{Fate: driver.FateRetry, RetryIn: time.Hour}}))
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := driver.Outage{Topic: "crm-feed", Since: time.Now().Add(-26 * time.Minute), Cause: "unavailable", Error: "kafka has no topic crm-feed"}
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{out}))
	o := newSession(t, s.URL)
	for _, command := range [][]string{
		{"status"},
		{"status", "-o", "json"},
		{"trace", "m-1", "--since", "1h"},
		{"doctor", "--only", "outbox.destinations"},
	} {
		r := o.leat(command...)
		require.Contains(t, r.out, "crm-feed", "%q: %s", command, r.err)
		require.Contains(t, r.out, "kafka has no topic crm-feed", command)
	}
	require.Contains(t, o.leat("status").out, "1 out, see below")
	require.Contains(t, o.leat("doctor", "--only", "outbox.destinations").out, "1 record tried again")
	require.Equal(t, 5, o.leat("doctor", "--only", "outbox.destinations").code)
}

// The log of a daemon names outbox, group and error of what is refused, in a line a cause and a minute.
func TestNight_DaemonLog(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no schema 17", http.StatusBadRequest)
	}))
	t.Cleanup(refuses.Close)
	const n = 300
	for i := range n {
		s.enqueue(t, placed("m-"+itoa(i), "orders", "k-"+itoa(i), "fine"))
	}
	d := newSession(t, s.URL).begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(`
http: {listen: '127.0.0.1:0'}
outboxes:
  - name: shop
    relays:
      - sink:
          http:
            allow_http: true
            allow_networks: [127.0.0.0/8]
            endpoints: {orders: {url: '%s', secrets: ['%s']}}
`, refuses.URL, httpsink.NewSecret())))
	d.eventually("all are parked", func() bool {
		stats, err := s.ob.Admin().Stats(t.Context())
		return err == nil && len(stats.Groups) == 1 && stats.Groups[0].Parked == n
	})
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
	var aside []string
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, "record is set aside") {
			aside = append(aside, line)
		}
	}
	require.NotEmpty(t, aside)
	require.LessOrEqual(t, len(aside), 5, "a line a minute, and one at the end: %s", aside)
	for _, part := range []string{"level=ERROR", " outbox=shop", " group=default", "answered 400", "no schema 17"} {
		require.Contains(t, aside[0], part)
	}
	require.LessOrEqual(t, strings.Count(d.log.String(), "level=ERROR")+strings.Count(d.log.String(), "level=WARN"), 20, d.log)
}

// A daemon that is told to reload names what it goes on with as it was.
func TestNight_ReloadNamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	text := strings.Replace(files, ", password: '${env:ONLY_THE_DAEMON_HAS_IT}'", "", 1)
	text = strings.Replace(text, "inboxes: [{name: in}]", "http: {listen: '127.0.0.1:0'}", 1)
	config := written(t, "leat.yaml", text)
	d := newSession(t, s.URL).begin("run", "--config", config)
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(text, "relays: [{", "relays: [{slots: 2, ", 1)), 0o600))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.eventually("names it", func() bool { return strings.Contains(d.log.String(), "needs_restart") })
	require.Contains(t, d.log.String(), "needs_restart=[outboxes[0].relays[0].slots]")
}

// Whoever may enqueue chooses topics. Twenty thousand that the destination does not take cost whoever is on call what a hundred
// do: the memory of the daemon, its log, metrics, status and pages, and what commands print, are bounded, and all are counted.
//
//leat:level 4
func TestNight_TwentyThousandTopicsOut(t *testing.T) {
	t.Parallel()
	const n = 20_000
	s, taken := newShop(t), make(chan struct{}, 10)
	takes := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken <- struct{}{} }))
	t.Cleanup(takes.Close)
	o := newSession(t, s.URL)
	d := o.begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(`
http: {listen: '127.0.0.1:0', dashboard: {}}
metrics: {listen: '127.0.0.1:0', interval: 1s}
outboxes:
  - name: shop
    relays:
      - sink:
          http:
            allow_http: true
            allow_networks: [127.0.0.0/8]
            endpoints: {orders: {url: '%s', secrets: ['%s']}}
        drain_timeout: 25s
        lease: 60s
`, takes.URL, httpsink.NewSecret())))
	d.is(daemon.StateLeader, "relay", "shop", "default")
	before := d.peakMiB()
	s.invent(t, d, n)
	s.enqueue(t, placed("m-1", "orders", "k", "fine"))
	<-taken
	d.countsAll(t)

	sizes := []string{}
	bounded := func(what, text string, most int) {
		t.Helper()
		sizes = append(sizes, fmt.Sprintf("%s %d", what, len(text)))
		require.Less(t, len(text), most, what)
	}
	for path, most := range map[string]int{
		"/statusz": 64 << 10, "/": 64 << 10, "/groups?group=default": 256 << 10, "/retried": 512 << 10, "/parked": 64 << 10,
		"/api/v1/status": 128 << 10, "/api/v1/groups": 128 << 10, "/api/v1/parked?state=retrying": 256 << 10,
	} {
		code, text := d.get(path)
		require.Equal(t, http.StatusOK, code, path)
		bounded(path, text, most)
	}
	_, page := d.get("/")
	require.Contains(t, page, "The destination of shop / default does not take 20,000 topics")
	_, metrics := fetch(t, http.MethodGet, d.metrics()+"/metrics", "")
	bounded("/metrics", metrics, 3<<20)
	require.LessOrEqual(t, strings.Count(metrics, "\nleat_relay_breaker_open{"), 201, "the topics that have a label, and the others")
	for _, command := range []string{"status", "status -o json", "status --summary", "explain", "doctor --only outbox.destinations", "parked list --retrying --limit 100"} {
		r := o.leat(strings.Fields(command)...)
		require.NotEqual(t, 2, r.code, r.err)
		bounded(command, r.out+r.err, 128<<10)
	}
	require.Contains(t, flat(o.leat("explain").out), "19900 more topics are out since")
	require.LessOrEqual(t, ask[int](t, s, "SELECT count(*)::int FROM leat.outbox_out"), 101)
	grown := d.peakMiB() - before
	require.Less(t, grown, 256)
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
	bounded("log", d.log.String(), 64<<10)
	require.LessOrEqual(t, strings.Count(d.log.String(), "\n"), 60)
	t.Logf("%d MiB, and %d more; bytes: %s", before, grown, strings.Join(sizes, ", "))
}

// invent enqueues messages for n topics that nobody has made, and waits until all are set aside.
func (s *shop) invent(t *testing.T, d *running, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		batch := make([]outbox.Message, 1000)
		for i := range batch {
			batch[i] = outbox.Message{ID: fmt.Sprint("h-", from+i), Topic: fmt.Sprintf("hostile-%05d-%s", from+i, strings.Repeat("x", 200)), Payload: []byte("1")}
		}
		s.enqueue(t, batch...)
	}
	d.eventually("all are set aside", func() bool {
		var held int
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM leat.outbox_held").Scan(&held))
		return held == n
	})
}

// countsAll waits until /statusz lists a hundred topics, and counts all.
func (d *running) countsAll(t *testing.T) {
	t.Helper()
	var said struct {
		Parts []struct {
			Out    []string
			Reason string
		}
	}
	d.eventually("counts them", func() bool {
		_, status := d.get("/statusz")
		require.NoError(t, json.Unmarshal([]byte(status), &said))
		return strings.Contains(said.Parts[0].Reason, "and 19999 more are out")
	})
	require.Len(t, said.Parts[0].Out, 100)
}
