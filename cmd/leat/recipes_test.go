package main_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// step is a command of a recipe, and what the page says that it prints.
type step struct {
	command string
	prints  []string
}

// recipes are the commands of a section of docs/operations.md or docs/changing.md.
func recipes(t *testing.T, section string) (steps []step) {
	t.Helper()
	var pages strings.Builder
	for _, page := range []string{"operations", "changing"} {
		raw, err := os.ReadFile("../../docs/" + page + ".md")
		require.NoError(t, err)
		pages.Write(raw)
	}
	_, text, ok := strings.Cut(pages.String(), "\n### "+section+"\n")
	require.True(t, ok, section)
	text, _, _ = strings.Cut(text, "\n#")
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 {
			continue // prose
		}
		_, block, _ = strings.Cut(block, "\n")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, step{command: strings.TrimSpace(command)})
			} else if strings.TrimSpace(line) != "" {
				require.NotEmpty(t, steps, line)
				steps[len(steps)-1].prints = append(steps[len(steps)-1].prints, line)
			}
		}
	}
	require.NotEmpty(t, steps)
	return steps
}

// pattern is a line of output as a page has it: words with a digit may be others, and … is any text.
func pattern(line string) *regexp.Regexp {
	words := strings.Fields(line)
	for i, word := range words {
		switch {
		case strings.ContainsAny(word, "0123456789"):
			words[i] = `\S+`
		case word == "…":
			words[i] = ".*"
		default:
			words[i] = regexp.QuoteMeta(word)
		}
	}
	return regexp.MustCompile(`(?m)^\s*` + strings.Join(words, `\s+`) + `\s*$`)
}

// shown wants the commands of leat in a section to be those that were run, and their output to be on the page.
func (s *session) shown(section string) {
	s.t.Helper()
	for _, step := range recipes(s.t, section) {
		if !strings.HasPrefix(step.command, "leat ") {
			continue
		}
		best, found := []string(nil), false
		for run := range strings.SplitSeq(s.transcript.String(), "$ ") {
			printed, ok := strings.CutPrefix(run, step.command+"\n")
			if !ok {
				continue
			}
			var missing []string
			for _, line := range step.prints {
				if !pattern(line).MatchString(printed) {
					missing = append(missing, line)
				}
			}
			if !found || len(missing) < len(best) {
				best, found = missing, true
			}
		}
		require.True(s.t, found, "%s: nobody has run %q", section, step.command)
		require.Empty(s.t, best, "%s: %q prints no such line", section, step.command)
	}
}

// A topic that was forgotten waits, is named with what to do, and goes on by itself once it is there.
func TestRecipe_AddATopic(t *testing.T) {
	t.Parallel()
	to, s := onNATS(t), newShop(t)
	o := newSession(t, s.URL)
	file := written(t, "leat.yaml", fmt.Sprintf("outboxes: [{name: shop, relays: [{sink: {nats: {urls: ['%s']}}}]}]\nhttp: {listen: '127.0.0.1:0'}\n", to.url))
	o.env = append(o.env, "LEAT_CONFIG="+file)
	d := o.begin("run", "--config", file)
	d.answers("/readyz", 200)
	s.enqueue(t, placed("m-1", "refunds", "order-1", "1"), placed("m-2", "orders", "order-1", "2"))
	d.eventually("the others go on", func() bool { return to.arrived() == 1 })
	d.eventually("it is told, and the position is past both", func() bool {
		status := o.leat("status", "-o", "json").out
		return strings.Contains(status, `"cause":"unavailable"`) && strings.Contains(status, `"backlog":0,`) && strings.Contains(status, `"retrying":1,`)
	})
	o.run(0, "status")
	o.run(5, "doctor", "--only", "sinks.*")
	conn, err := nats.Connect(to.url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	create := recipes(t, "Add a topic")[2].command
	made := regexp.MustCompile(`^nats stream add (\w+) --subjects (\w+) --defaults$`).FindStringSubmatch(create)
	require.NotNil(t, made, create)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: made[1], Subjects: made[2:]})
	require.NoError(t, err)
	d.eventually("it goes on", func() bool {
		return !strings.Contains(o.leat("status").out, "refunds") && strings.Contains(o.leat("trace", "m-1", "--since", "1h").out, "the position is past it")
	})
	o.run(0, "doctor", "--only", "sinks.*")
	o.run(0, "trace", "m-1", "--since", "1h")
	o.golden("recipe-topic")
	o.shown("Add a topic")
}

// A group that nobody runs keeps the log from being shortened: it is named, bounded or removed, and the room is there.
func TestRecipe_DiskFilling(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "1"))
	s.relay(t, "audit", nothing)
	for i := range 30 {
		payload := make([]byte, 100_000)
		_, _ = rand.Read(payload) // the server would compress zeros
		s.enqueue(t, placed("n-"+itoa(i), "orders", "order-1", string(payload)))
	}
	s.relay(t, "", nothing)
	round := []string{"retention", "run", "--retention", "7d", "--max-bytes", "1MiB", "--without-archive", "--yes"}
	o := newSession(t, s.URL)
	o.run(0, "retention", "ranges")
	o.run(0, round...)
	o.run(0, "groups", "list")
	o.run(0, "groups", "remove", "audit", "--reason", "INC-7, nobody reads it any more", "--yes")
	o.run(0, round...)
	o.run(0, "retention", "ranges")
	o.golden("recipe-disk")
	o.shown("The disk is filling")
}

// What a redrive has not sent yet can be stopped, looked at, dropped and redriven.
func TestRecipe_MistakenRedrive(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-1", "2"), placed("m-3", "orders", "order-2", "bad"), placed("m-4", "mails", "ann", "bad"))
	relayOnce(t, s, "", relay.Policy{}, ifBad(errors.New("no schema 17")))
	var mu sync.Mutex
	var sent []string
	take := func(r outbox.Record) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.ID)
		return nil
	}
	o := newSession(t, s.URL)
	o.run(0, "parked", "redrive", "--all", "--reason", "INC-8, schema is there", "--yes")
	stop := []string{"parked", "redrive", "--stop", "--topic", "orders", "--reason", "INC-8, the schema is not there"}
	o.run(0, append(stop, "--dry-run")...)
	o.run(0, append(stop, "--dry-run", "-o", "json")...)
	o.run(0, append(stop, "--yes")...)
	o.run(0, append(stop, "--yes")...)
	relayOnce(t, s, "", relay.Policy{}, take)
	require.Equal(t, []string{"m-4"}, sent, "mails go out; what was stopped does not")
	o.run(0, "audit")
	o.run(0, "parked", "list")
	o.run(0, "trace", "m-4", "--since", "1h")
	o.run(2, append(stop, "--canary", "1", "--yes")...)
	o.run(2, append(stop, "--rate", "1", "--yes")...)
	o.run(3, "parked", "redrive", "--stop", "--id", "m-1", "--reason", "it is parked", "--yes")
	o.run(0, "parked", "drop", "--id", "m-3", "--reason", "INC-8, was refunded by hand", "--yes")
	runs(t, s, take)
	o.run(0, "parked", "redrive", "--topic", "orders", "--canary", "1", "--reason", "INC-8, schema is there now", "--yes")
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(sent) == 3
	}, patience, time.Millisecond)
	require.Equal(t, []string{"m-4", "m-1", "m-2"}, sent)
	o.golden("recipe-redrive")
	o.shown("A redrive that was a mistake")
}

// recipe runs the commands of a section as the page has them.
func (s *session) recipe(section string) {
	s.t.Helper()
	for _, step := range recipes(s.t, section) {
		s.run(0, words(step.command)[1:]...)
	}
	s.shown(section)
}

// TestRecipe_RenameAGroup: what waits for the old name is sent under the new one, and the old name cannot begin anew.
func TestRecipe_RenameAGroup(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.relay(t, "audit", nothing)
	s.enqueue(t, placed("m-1", "orders", "order-1", "1"), placed("m-2", "orders", "order-1", "2"))
	o := newSession(t, s.URL)
	o.recipe("Rename a group")
	require.Contains(t, o.transcript.String(), "Would rename group audit to archive, with its position, 0 records and 2 messages that wait.")
	o.run(0, "status", "--group", "archive")
	o.run(0, "audit", "--action", "rename_group", "--time", "utc")
	o.run(3, "groups", "show", "audit")
	o.golden("recipe-rename")
}

// TestRecipe_ReadFewerTopics: what is left behind is counted before it is.
func TestRecipe_ReadFewerTopics(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.relay(t, "default", nothing)
	s.enqueue(t, placed("m-1", "orders", "order-1", "1"))
	o := newSession(t, s.URL)
	o.recipe("Read fewer topics")
	o.run(0, "groups", "list")
	o.golden("recipe-topics")
}
