package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// replayed are the ids of n records of topic, in order.
func replayed(t *testing.T, kafka *testenv.KafkaEnv, topic string, n int) []string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var ids []string
	for len(ids) < n {
		fetches := client.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "got %q", ids)
		fetches.EachRecord(func(r *kgo.Record) {
			for _, h := range r.Headers {
				if h.Key == outbox.HeaderEventID {
					ids = append(ids, string(h.Value))
				}
			}
		})
	}
	return ids
}

// A replay sends what was selected, with the same ids, and says so in the audit; a dry
// run counts and leaves no trace.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	replay(t, s, newSession(t, s.URL))
}

func replay(t *testing.T, s store, o *session) {
	t.Helper()
	kafka := testenv.Kafka(t)
	topic := kafka.Topic(t, "replayed", 1)
	for i := range 5 {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", "order-1", "fine"), placed(fmt.Sprintf("n-%d", i), "mails", "ann", "fine"))
	}
	again := []string{"replay", "--reason", "INC-3", "--topic", "ord*", "--to-topic", topic}
	r := o.leat(append(again, "--dry-run")...)
	require.Equal(t, "Would send 5 records, skipped 0.\n", r.out, r.err)
	require.Contains(t, o.leat("audit", "-o", "json").out, `"entries":[]`)
	require.Contains(t, o.leat(append(again, "--yes")...).err, "kafka.brokers")

	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	r = o.leat(append(again, "--yes", "-o", "json")...)
	require.Zero(t, r.code, r.err)
	var report struct {
		Done bool
		Sent int
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.True(t, report.Done)
	require.Equal(t, 5, report.Sent)
	require.Equal(t, []string{"m-0", "m-1", "m-2", "m-3", "m-4"}, replayed(t, kafka, topic, 5))
	require.Contains(t, o.leat("audit", "-o", "json").out, `"reason":"INC-3"`)
}

// The question says what is sent where, and what was skipped is not a success.
func TestReplay_Skipped(t *testing.T) {
	t.Parallel()
	kafka := testenv.Kafka(t)
	topic := kafka.Topic(t, "skipped", 1)
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"), placed("m-2", "orders", "order-2", "fine"))
	_, err := s.Pool.Exec(t.Context(), "UPDATE leat.outbox SET payload = convert_to(repeat('x', 3000000), 'UTF8') WHERE seq = 1")
	require.NoError(t, err)
	o := newSession(t, s.URL)
	replay := []string{"replay", "--reason", "INC-3", "--from", "2020-01-05", "--topic", "ord*", "--to-topic", topic, "--brokers", strings.Join(kafka.Brokers, ",")}
	r := o.answer("n", replay...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, "to Kafka at "+strings.Join(kafka.Brokers, ",")+"; all to topic "+topic+"; topics ord*; enqueued from 2020-01-05T00:00:00Z to the newest. Go on?")
	r = o.leat(append(replay, "--skip-failed", "--yes")...)
	require.Equal(t, 5, r.code, r.err)
	require.Contains(t, r.out, "not delivered: seq 1, id m-1")
	require.Contains(t, r.out, "Sent 1 record, skipped 1.")
}

// position is what the tests look at in the file of --resume.
type position struct {
	Sent int
	Done bool
}

// interruptedReplay interrupts a replay once file tells that something was sent, and
// returns what file tells in the end.
func (s *session) interruptedReplay(file string, args ...string) position {
	s.t.Helper()
	read := func() (p position) {
		content, err := os.ReadFile(file)
		if err == nil {
			require.NoError(s.t, json.Unmarshal(content, &p), "never half of it: %q", content)
		}
		return p
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env = s.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(s.t, cmd.Start())
	require.Eventually(s.t, func() bool { return read().Sent > 0 }, patience, 20*time.Millisecond)
	require.NoError(s.t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	require.Equal(s.t, 130, cmd.ProcessState.ExitCode(), stderr.String())
	require.Contains(s.t, stderr.String(), "--resume "+file)
	return read()
}

// A replay that came to an end half-way goes on where it was, and is not begun twice.
func TestReplay_Resume(t *testing.T) {
	t.Parallel()
	kafka := testenv.Kafka(t)
	topic := kafka.Topic(t, "resumed", 1)
	s := newShop(t)
	const records = 40
	for i := range records {
		s.enqueue(t, placed(fmt.Sprintf("m-%02d", i), "orders", "order-1", "fine"))
	}
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	file := filepath.Join(t.TempDir(), "position.json")
	replay := []string{"replay", "--reason", "INC-3", "--from", "1h", "--to-topic", topic, "--resume", file, "--page-size", "1", "--yes"}
	saved := o.interruptedReplay(file, append(replay, "--rate", "10")...)
	require.False(t, saved.Done)
	require.Less(t, saved.Sent, records)

	r := o.leat("replay", "--reason", "INC-3", "--from", "1h", "--topic", "other", "--resume", file, "--yes")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "--resume")
	other := slices.Clone(replay)
	other[slices.Index(other, topic)] = topic + "-other"
	r = o.leat(other...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "--to-topic")
	r = o.leat(append(replay, "--brokers", "127.0.0.1:1")...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "not 127.0.0.1:1")
	require.Zero(t, o.leat(replay...).code)
	want := make([]string, records)
	for i := range want {
		want[i] = fmt.Sprintf("m-%02d", i)
	}
	require.Equal(t, want, unrepeated(replayed(t, kafka, topic, records)), "all, in order; what was under way may come twice")
	r = o.leat(replay...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, "has come to its end")
}

// unrepeated leaves out what follows itself.
func unrepeated(ids []string) []string {
	var once []string
	for _, id := range ids {
		if len(once) == 0 || once[len(once)-1] != id {
			once = append(once, id)
		}
	}
	return once
}
