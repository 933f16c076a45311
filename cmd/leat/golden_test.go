package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
)

// What each shell is to evaluate.
func TestCompletion_Code(t *testing.T) {
	t.Parallel()
	o := newSession(t, "")
	o.env = append(o.env, "PATH=") // a process of its own: the code names the program
	for _, shell := range []string{"bash", "zsh", "fish"} {
		o.run(0, "completion", shell)
	}
	o.golden("completion")
}

// What the doctor finds where messages are parked and no relay lives. Checks of the server are
// left out: what they find is the server's matter.
func TestDoctor_Prints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	for _, check := range []string{"schema.*", "sequence.*", "outbox.[gpr]*"} {
		for _, output := range []string{"table", "json"} {
			code := 0
			if strings.HasPrefix(check, "outbox.") {
				code = 5
			}
			o.run(code, "doctor", "--only", check, "--strict", "-o", output)
		}
	}
	o.golden("doctor")
}

// What a replay prints that is tried, done, and asked for once more when it has come to its end.
func TestReplay_Prints(t *testing.T) {
	t.Parallel()
	kafka := testenv.Kafka(t)
	topic := kafka.Topic(t, "replayed", 1)
	s := newShop(t)
	for i := range 3 {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", "order-1", "fine"))
	}
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	again := []string{"replay", "--reason", "INC-3", "--topic", "ord*", "--to-topic", topic, "--resume", t.TempDir() + "/position.json"}
	for _, output := range []string{"table", "json"} {
		o.run(0, append(again, "--dry-run", "-o", output)...)
	}
	o.run(0, append(again, "--yes")...)
	o.run(2, append(again, "--yes")...)
	o.run(0, append(again[:len(again)-2], "--yes", "-o", "json")...)
	o.transcriptWithout(topic, "<topic>")
	o.golden("replay")
}

// Two looks of a status that is watched, with a pause between them.
func TestStatus_WatchPrints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	out, code := o.interrupted("paused", func() {
		require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Group: "default"}))
	}, "status", "--watch", "100ms")
	require.Equal(t, 130, code, out)
	looks := strings.SplitAfter(out, "runs\n")
	require.GreaterOrEqual(t, len(looks), 2, out)
	o.transcript.WriteString("$ leat status --watch 100ms\n" + looks[0] + looks[len(looks)-2])
	o.golden("status-watch")
}
