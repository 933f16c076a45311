package main_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// incident is a row of docs/incidents.md: says is its cell without quotes.
type incident struct{ number, command, says, cell string }

// incidents reads the page.
func incidents(t *testing.T) (all []incident) {
	t.Helper()
	page, err := os.ReadFile("../../docs/incidents.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if number := strings.TrimSpace(cells[0]); len(cells) == 4 && regexp.MustCompile(`^\d+$`).MatchString(number) {
			all = append(all, incident{number, strings.Trim(cells[2], " `"), strings.Trim(cells[3], " `"), cells[3]})
		}
	}
	return all
}

// flat is text with one blank between its words.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// pattern is what an incident's command must print: … stands for any text.
func (i incident) pattern() *regexp.Regexp {
	return regexp.MustCompile("(?s)" + strings.ReplaceAll(regexp.QuoteMeta(flat(i.says)), "…", ".*"))
}

// Whoever is on call learns the cause of each incident by one command. Each is made on a real server.
func TestNight_Incidents(t *testing.T) {
	t.Parallel()
	all, made := incidents(t), happened()
	require.Len(t, all, 27)
	tests := bodiesOfTests(t)
	for n, i := range all {
		require.Equal(t, itoa(n+1), i.number)
		happens, ok := made[i.number]
		t.Run(i.number, func(t *testing.T) {
			t.Parallel()
			if !ok {
				body := tests[i.command]
				require.NotEmpty(t, body, "%s: neither a command whose incident is made here nor the test that makes it", i.command)
				for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(i.cell, -1) {
					require.Contains(t, body, quoted[1], "what the page quotes is what the test looks for")
				}
				return
			}
			o := happens(t)
			args := strings.Fields(i.command)
			require.Equal(t, "leat", args[0])
			said := &told{}
			require.Eventually(t, func() bool {
				r := o.leat(args[1:]...)
				said.text = flat(r.out + " " + r.err)
				return i.pattern().MatchString(said.text)
			}, patience, 100*time.Millisecond, "%s\n%s", i.says, said)
		})
		delete(made, i.number)
	}
	require.Empty(t, made, "a row for each incident")
}

// told is what a command has said last, for a test that fails.
type told struct{ text string }

func (t *told) String() string { return t.text }

// bodiesOfTests are the tests of all modules, by their names.
func bodiesOfTests(t *testing.T) map[string]string {
	t.Helper()
	bodies, declared := map[string]string{}, regexp.MustCompile(`(?ms)^func (Test\w+)\((.*?)^}`)
	for _, root := range []string{".", "../../outbox", "../../middleware", "../../internal"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range declared.FindAllStringSubmatch(string(content), -1) {
				bodies[match[1]] += match[2]
			}
			return err
		}))
	}
	return bodies
}

// happened are the incidents that are made here, by the number of their row.
func happened() map[string]func(*testing.T) *session { //nolint:revive // a table
	return map[string]func(*testing.T) *session{
		"1": missing, "2": missing,
		"3": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
			s.relay(t, "", nothing)
			late, err := s.ob.Source(pgoutbox.SourceConfig{Group: "late", Start: outboxdriver.Start{Now: true}})
			require.NoError(t, err)
			s.leads(t, late)
		}),
		"4": func(t *testing.T) *session {
			o := newSession(t, newShop(t).URL)
			o.env = append(o.env, "LEAT_CONFIG="+written(t, "leat.yaml", files))
			return o
		},
		"5": inShop(func(t *testing.T, s *shop) {
			for i := range 3 {
				s.enqueue(t, placed("m-"+itoa(i), "orders", "ann", "bad"))
			}
			s.enqueue(t, placed("n-1", "orders", "", "bad"))
			s.relay(t, "", ifBad(errors.New("no schema")))
		}),
		"6": inShop(func(t *testing.T, s *shop) {
			s.relay(t, "", nothing)
			s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
		}),
		"7": inShop(func(t *testing.T, s *shop) {
			runs(t, s, nothing)
			sends(t, s, nothing) // stands by
		}),
		"10": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-1", "orders", "order-1", "bad"))
			s.relay(t, "", ifBad(errors.New("no schema")))
			_, err := s.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Selection: admin.Selection{ID: "m-1"}})
			require.NoError(t, err)
			s.relay(t, "", ifBad(errors.New("no schema")))
		}),
		"13": brokerAway,
		"15": inShop(func(t *testing.T, s *shop) { s.trouble(t) }),
		"18": inShop(func(t *testing.T, s *shop) {
			s.leads(t, s.source(t, ""))
			require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Group: "default", Topics: []string{"orders"}}))
			s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
		}),
		"19": inShop(func(t *testing.T, s *shop) { s.trouble(t) }),
		"20": inShop(func(t *testing.T, s *shop) {
			s.leads(t, s.source(t, ""))
			due := placed("m-1", "reminders", "order-1", "pay")
			due.NotBefore = time.Now().Add(time.Hour)
			s.enqueue(t, due)
			s.changes(t, "UPDATE leat.outbox_delayed SET not_before = now() - interval '90 minutes'")
		}),
		"21": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
			s.relay(t, "", nothing)
			s.changes(t, "UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1")
		}),
		"22": inShop(func(t *testing.T, s *shop) {
			undone := errors.New("no stock")
			err := s.ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				require.NoError(t, s.ob.Enqueue(ctx, tx, placed("m-1", "orders", "order-1", "fine")))
				return undone
			})
			require.ErrorIs(t, err, undone)
		}),
		"23": inShop(func(t *testing.T, s *shop) { s.trouble(t) }),
		"24": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
			copied, err := s.ob.Source(pgoutbox.SourceConfig{Group: "copy", Start: outboxdriver.Start{Oldest: true}, Topics: []string{"mails"}})
			require.NoError(t, err)
			relaysOnce(t, copied)
		}),
		"25": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-1", "orders", "order-1", "1"))
			s.relay(t, "audit", nothing)
			s.enqueue(t, placed("m-2", "orders", "order-1", "2"))
			s.relay(t, "", nothing)
			s.changes(t, "SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 20000000)")
		}),
		"26": func(t *testing.T) *session { return newSession(t, newShopWithout(t).URL) },
		"27": inShop(func(t *testing.T, s *shop) {
			s.enqueue(t, placed("m-2", "orders", "order-2", "bad"))
			s.relay(t, "", nothing)
			s.consume(t)
		}),
	}
}

// inShop is an incident in a shop of its own.
func inShop(happens func(t *testing.T, s *shop)) func(*testing.T) *session {
	return func(t *testing.T) *session {
		s := newShop(t)
		happens(t, s)
		return newSession(t, s.URL)
	}
}

func missing(t *testing.T) *session {
	t.Helper()
	s := newShop(t)
	s.missingTopic(t, "m-8", "m-9", "m-10")
	s.changes(t, "UPDATE leat.outbox_held SET created_at = created_at - interval '26 minutes'")
	return newSession(t, s.URL)
}

// brokerAway is a daemon whose brokers do not answer.
func brokerAway(t *testing.T) *session {
	t.Helper()
	s := newShop(t)
	o := newSession(t, s.URL)
	config := written(t, "leat.yaml", "outboxes: [{name: shop, relays: [{lease: 4s, publish_timeout: 1s, sink: {kafka: {}}}]}]\nkafka: {brokers: '127.0.0.1:1'}\nhttp: {listen: '127.0.0.1:0'}\n")
	o.begin("run", "--config", config)
	s.enqueue(t, placed("m-1", "orders", "a", "1"), placed("m-2", "mails", "b", "2"), placed("m-3", "bills", "c", "3"))
	return o
}

// leads holds the lease of a group until the test ends.
func (s *shop) leads(t *testing.T, source outboxdriver.Source) {
	t.Helper()
	session, err := source.Acquire(t.Context(), time.Hour)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Release(context.WithoutCancel(t.Context()))) })
}

// changes runs a statement.
func (s *shop) changes(t *testing.T, statement string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), statement)
	require.NoError(t, err)
}

// relaysOnce sends all that a source has.
func relaysOnce(t *testing.T, source outboxdriver.Source) {
	t.Helper()
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	r, err := relay.New(source, sink, relay.Config{})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
}
