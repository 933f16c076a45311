package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	watermill "github.com/ThreeDotsLabs/watermill/message"
	"github.com/creack/pty"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// answer runs a command at a terminal, at which answer is typed.
func (s *session) answer(answer string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	typing, terminal, err := pty.Open()
	require.NoError(s.t, err)
	defer typing.Close()
	defer terminal.Close()
	_, err = typing.WriteString(answer + "\n")
	require.NoError(s.t, err)
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env, cmd.Stdin = s.env, terminal
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	_ = cmd.Run()
	return result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// converse runs a command at a terminal: as soon as it asks, meanwhile happens, and then
// answer is typed.
func (s *session) converse(answer string, meanwhile func(question string), args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	typing, terminal, err := pty.Open()
	require.NoError(s.t, err)
	defer typing.Close()
	defer terminal.Close()
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env, cmd.Stdin = s.env, terminal
	var out, told bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	asked := false
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(stderr, one); err != nil {
			break
		}
		told.Write(one)
		if text := told.String(); !asked && (strings.HasSuffix(text, "[y/N] ") || strings.Contains(text, "Type ") && strings.HasSuffix(text, ": ")) {
			asked = true
			meanwhile(text)
			_, err = typing.WriteString(answer + "\n")
			require.NoError(s.t, err)
		}
	}
	_ = cmd.Wait()
	require.True(s.t, asked, told.String())
	return result{out.String(), told.String(), cmd.ProcessState.ExitCode()}
}

// What is set aside while the operator reads the plan is not part of it.
func TestTerminal_NoMoreThanConfirmed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	park := func(ids ...string) {
		for _, id := range ids {
			s.enqueue(t, placed(id, "orders", id, "bad"))
		}
		s.relay(t, "", ifBad(errors.New("no")))
	}
	park("m-1", "m-2")
	o := newSession(t, s.URL)
	r := o.converse("2", func(string) { park("m-3") }, "parked", "drop", "--all", "--reason", "obsolete")
	require.Equal(t, "Dropped 2 records.\n", r.out, r.err)
	require.Contains(t, o.leat("parked", "list").out, "m-3")
	r = o.converse("1", func(string) {
		park("m-4")
		require.Zero(t, o.leat("parked", "drop", "--id", "m-3", "--reason", "obsolete", "--yes").code)
	}, "parked", "drop", "--topic", "orders", "--reason", "obsolete")
	require.Equal(t, "Dropped 0 records.\n", r.out, r.err)
	require.Contains(t, o.leat("parked", "list").out, "m-4")
}

// The same of an inbox.
func TestTerminal_NoMoreThanConfirmedOfAnInbox(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.consume(t)
	o := newSession(t, s.URL)
	r := o.converse("3", func(string) { s.parkInbox(t, "m-8", "order-8") }, "inbox", "parked", "drop", "--consumer", "loyalty", "--all", "--reason", "obsolete")
	require.Equal(t, "Dropped 3 messages.\n", r.out, r.err)
	require.Contains(t, o.leat("inbox", "parked", "list").out, "m-8")
}

// A skip names the record, and drops no other one.
func TestTerminal_Skip(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-1", "bad"), placed("m-3", "orders", "order-1", "bad"))
	s.relay(t, "", ifBad(errors.New("no")))
	s.consume(t)
	o := newSession(t, s.URL)
	skip := []string{"parked", "skip", "--topic", "orders", "--key", "order-1", "--reason", "obsolete"}
	dry := o.leat(append(skip, "--dry-run")...).out
	require.Regexp(t, `^Would drop 1 record of 1 key, the oldest set aside \S+ ago: seq 1, id m-1, the first of key order-1 of topic orders`, dry)
	r := o.converse("order-1", func(question string) {
		require.Contains(t, question, "seq 1, id m-1")
		require.Zero(t, o.leat("parked", "drop", "--id", "m-1", "--reason", "obsolete", "--yes").code)
		s.relay(t, "", ifBad(errors.New("no")))
	}, skip...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, "the key has another first record by now: seq 2, id m-2, not seq 1, id m-1")
	require.Contains(t, o.leat("parked", "list").out, "m-2")
	require.Equal(t, "Dropped 1 record.\n", o.leat(append(skip, "--yes")...).out)

	skip = []string{"inbox", "parked", "skip", "--consumer", "loyalty", "--key", "order-2", "--reason", "obsolete"}
	r = o.converse("order-2", func(question string) {
		require.Contains(t, question, "no 1, id m-2")
		require.Zero(t, o.leat("inbox", "parked", "drop", "--consumer", "loyalty", "--key", "order-2", "--reason", "obsolete", "--yes").code)
		s.parkInbox(t, "m-12", "order-2")
	}, skip...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, "id m-12, not no 1, id m-2")
	require.Equal(t, "Dropped 1 message.\n", o.leat(append(skip, "--yes")...).out)
}

// On a terminal leat asks, and takes nothing but what it has asked for.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-2", "bad"))
	s.relay(t, "", ifBad(errors.New("no")))
	o := newSession(t, s.URL)
	redrive := []string{"parked", "redrive", "--key", "order-1", "--topic", "orders", "--reason", "fixed"}
	r := o.answer("n", redrive...)
	require.Equal(t, 4, r.code, r.err)
	require.Empty(t, r.out)
	require.Regexp(t, `Would redrive 1 record of 1 key, the oldest set aside \S+ ago: parked in group default, topic orders, key order-1\. Go on\? \[y/N\]`, r.err)
	r = o.answer("y", redrive...)
	require.Zero(t, r.code, r.err)
	require.Equal(t, "Redrove 1 record.\n", r.out)

	drop := []string{"parked", "drop", "--id", "m-2", "--reason", "obsolete"}
	r = o.answer("y", drop...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, `Type "m-2": `)
	require.Equal(t, "Dropped 1 record.\n", o.answer("m-2", drop...).out)
	require.Equal(t, 4, o.answer("yes", "groups", "remove", "default", "--reason", "obsolete").code)
	require.Equal(t, "Removed group default, dropped 1 record.\n", o.answer("default", "groups", "remove", "default", "--reason", "obsolete").out)
}

// at runs a command, in this process, whose output goes to a terminal of so many columns.
func (s *session) at(columns uint16, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	screen, terminal, err := pty.Open()
	require.NoError(s.t, err)
	defer screen.Close()
	require.NoError(s.t, pty.Setsize(terminal, &pty.Winsize{Rows: 50, Cols: columns}))
	shown := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(screen) // ends with an error once nobody has the terminal
		shown <- string(all)
	}()
	env, ours := s.variables()
	require.True(s.t, ours)
	var stderr bytes.Buffer
	code := cli.Main(ctx, command.Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: terminal, Stderr: &stderr,
		LookupEnv: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		},
	})
	require.NoError(s.t, terminal.Close())
	return result{strings.ReplaceAll(<-shown, "\r\n", "\n"), stderr.String(), code}
}

// Names of a crowded shop.
const (
	crowdedTopic    = "eu.customer-orders.placed.v2"
	crowdedGroup    = "warehouse-notifications"
	crowdedConsumer = "loyalty-points-of-customers"
	crowdedReason   = "INC-4711, the registry of schemas was restored from a backup of last night, and the versions since then are registered again"
)

var errCrowded = errors.New("no schema 17 of subject " + crowdedTopic + "-value at registry.eu-central-1.example.com:8081, which answered 404 Not Found: " +
	"it was deleted, or the registry was restored from a backup that is older than the schema")

func crowdedID(n int) string { return fmt.Sprintf("0190c6e2-7c1d-7e8e-9a44-%012d", n) }

func crowdedKey(n int) string { return "customer-" + crowdedID(n) }

// newCrowdedShop is a shop in which much has gone wrong, and whose names, ids, keys and errors are as long as they are in production.
func newCrowdedShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	message := func(n, key int, payload string) outbox.Message {
		return placed(crowdedID(n), crowdedTopic, crowdedKey(key), payload)
	}
	s.enqueue(t, message(1, 1, "fine"), message(2, 1, "bad"), message(3, 1, "fine"), message(4, 2, "bad"))
	delayed := message(5, 3, "fine")
	delayed.NotBefore = time.Now().Add(time.Hour)
	s.enqueue(t, delayed)
	s.relay(t, "", ifBad(errCrowded))
	relayOnce(t, s, crowdedGroup, relay.Policy{Action: relay.DeadLetter}, ifBad(errCrowded))
	in := s.inbox(t, crowdedConsumer, inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
	require.NoError(t, in.Migrate(t.Context()))
	tried := s.inbox(t, "billing-of-customers", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 10, Delay: inbox.NoDelay}})
	for n := range 3 {
		msg := watermill.NewMessage(crowdedID(n), []byte("bad"))
		msg.Metadata.Set("leat_key", crowdedKey(1))
		_, _ = in.Process(t.Context(), msg, func(context.Context) error { return errCrowded })
		_, err := tried.Process(t.Context(), msg, func(context.Context) error { return errCrowded })
		require.Error(t, err)
	}
	s.positions(t)
	by := admin.By{Actor: "anneliese.mustermann@ops.example.com", Reason: crowdedReason}
	manage := s.ob.Admin()
	_, err := manage.Redrive(t.Context(), admin.ChangeRequest{By: by, Selection: admin.Selection{ID: crowdedID(4)}})
	require.NoError(t, err)
	require.NoError(t, manage.Pause(t.Context(), admin.PauseRequest{By: by, Group: crowdedGroup, Topics: []string{crowdedTopic, "eu.customer-returns.*"}}))
	s.missingTopic(t, crowdedID(6), crowdedID(7))
	s.changes(t, `CREATE TABLE outbox_events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, aggregate_type varchar(255) NOT NULL, aggregate_id varchar(255) NOT NULL,
		event_type varchar(255) NOT NULL, payload varchar(255) NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), sent_at timestamptz NULL)`)
	s.changes(t, `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('`+crowdedTopic+`', '`+crowdedKey(9)+`', 'customer.order.paid', '{"total": 30}')`)
	return s
}

// crowdedLooks are commands whose results fit a terminal.
func crowdedLooks() []string {
	const change = " --reason 'INC-4711' --dry-run"
	keyed := " --topic " + crowdedTopic + " --key " + crowdedKey(1)
	watermark := " --consumer stock --topic orders --source "
	return []string{
		"status", "status --group " + crowdedGroup, "status --summary", "explain", "explain " + crowdedID(3) + " --since 1h", "explain " + crowdedTopic,
		"trace " + crowdedID(2) + " --since 1h", "trace " + crowdedID(4) + " --since 1h", "trace " + crowdedID(6) + " --since 1h",
		"doctor", "doctor --only 'outbox.*'", "prove --only durability",
		"groups list", "groups show default", "groups show " + crowdedGroup, "groups pause default --topic 'eu.*'" + change, "groups resume " + crowdedGroup + change,
		"groups set-max-lag " + crowdedGroup + " 168h" + change, "groups set-topics " + crowdedGroup + " --topic 'eu.*'" + change,
		"groups rename " + crowdedGroup + " warehouse-notifications-of-2026" + change, "groups remove " + crowdedGroup + change,
		"parked list", "parked list --retrying", "parked keys", "parked errors", "parked show " + crowdedID(2), "parked redrive --all" + change,
		"parked redrive --stop --topic 'eu.*'" + change, "parked skip" + keyed + change, "parked drop --topic 'eu.*'" + change,
		"dead list --group " + crowdedGroup, "dead errors --group " + crowdedGroup, "dead show " + crowdedID(2) + " --group " + crowdedGroup,
		"dead redrive --all --group " + crowdedGroup + change, "dead drop --all --group " + crowdedGroup + change,
		"delayed list", "delayed show " + crowdedID(5), "delayed cancel " + crowdedID(5) + change,
		"messages search", "messages show " + crowdedID(1) + " --since 1h", "erase --key " + crowdedKey(1) + change, "audit",
		"migrate status", "migrate up --dry-run", "replay" + change, "rebase --group " + crowdedGroup + " --start oldest" + change,
		"adopt take outbox_events --dry-run", "adopt release outbox_events --dry-run", "retention ranges", "retention run --retention 168h --dry-run",
		"inbox status", "inbox consumers", "inbox lookup " + crowdedID(1), "inbox attempts --consumer billing-of-customers", "inbox audit",
		"inbox parked list", "inbox parked errors", "inbox parked show " + crowdedID(1), "inbox parked redrive --all --consumer " + crowdedConsumer + change,
		"inbox parked skip --consumer " + crowdedConsumer + " --key " + crowdedKey(1) + change, "inbox parked drop --all --consumer " + crowdedConsumer + change,
		"inbox watermarks list --consumer stock", "inbox watermarks set" + watermark + logID + " --partition 0 --next 3" + change,
		"inbox watermarks remove" + watermark + logID + " --partition 0" + change, "inbox watermarks accept" + watermark + "7c0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90" + change,
		"inbox retention show", "inbox retention enable --retention 336h --dry-run", "config show", "config lint", "version",
	}
}

// notForTerminals are the other commands, and why nobody looks whether they fit.
var notForTerminals = map[string]string{
	"run": "a daemon, which logs", "relay": "a daemon, which logs", "dash": "a server, which logs", "health": "ok, or an error",
	"bundle": "a file for who helps", "messages export": "for programs", "migrate sql": "a file", "config schema": "for editors", "completion": "for shells",
	"inbox lag": "numbers in a table; it needs Kafka", "inbox rewind": "as inbox lag", "inbox retention lower": "a sentence; refused unless the floor is ahead",
	"debezium to-leat": "a sentence, which goes the way of the others; it needs a connector", "debezium from-leat": "as to-leat", "debezium drop-slot": "as to-leat",
}

// Whatever a command prints fits a terminal, however narrow: nothing but a single word, such as an address, is longer than a line.
func TestTerminal_Fits(t *testing.T) {
	t.Parallel()
	s := newCrowdedShop(t)
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_CONFIG="+written(t, "leat.yaml", "outboxes: [{name: shop-of-the-customers-in-the-european-union, relays: [{lease: 1ms, slo: soon, sink: {}}]}]\n"))
	looks := crowdedLooks()
	parser, err := cli.NewParser(&cli.Root{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	for _, leaf := range parser.Model.Leaves(true) {
		name := strings.Join(path(leaf), " ")
		_, exempt := notForTerminals[name]
		looked := slices.ContainsFunc(looks, func(look string) bool { return look == name || strings.HasPrefix(look, name+" ") })
		require.NotEqual(t, exempt, looked, "%s: looked at here, or with a reason why not", name)
	}
	for _, look := range looks {
		t.Run(strings.ReplaceAll(look, " ", "_"), func(t *testing.T) {
			t.Parallel()
			o := &session{t: t, env: o.env}
			for _, columns := range []uint16{80, 140} {
				r := o.at(columns, words(look)...)
				require.Contains(t, []int{0, 5}, r.code, r.err)
				require.NotEmpty(t, r.out+r.err)
				if testing.Verbose() {
					t.Logf("leat %s at %d columns:\n%s", look, columns, r.out)
				}
				requireFits(t, r.out, int(columns), look)
			}
			requireFits(t, o.at(80, append(words(look), "--help")...).out, 80, look+" --help")
		})
	}
}

// requireFits wants lines of at most so many columns, except those of a single word, and what is to be copied: commands, SQL.
func requireFits(t *testing.T, out string, columns int, of string) {
	t.Helper()
	out, _, _ = strings.Cut(out, "\nIt would run:\n")
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if len(strings.Fields(line)) == 1 || strings.HasPrefix(line, "    leat ") || strings.HasPrefix(line, "Usage: ") {
			continue
		}
		if width := text.StringWidthWithoutEscSequences(line); width > columns {
			assert.Fail(t, "too wide", "leat %s at %d: %d columns:\n%s", of, columns, width, line)
		}
	}
}
