package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/testenv"
)

// destination is one that is tried, with a topic that is for nothing else.
type destination struct {
	args            []string
	variable, topic string
	version         string
	// want are the outcomes that differ from OK.
	want map[string]prover.Outcome
}

// session is at a shell that knows it.
func (d destination) session(t *testing.T) *session {
	t.Helper()
	o := newSession(t, "")
	if d.variable != "" {
		o.env = append(o.env, "LEAT_SINK_URL="+d.variable)
	}
	return o
}

// destinations start each kind of destination.
func destinations() map[string]func(*testing.T) destination {
	return map[string]func(*testing.T) destination{
		"Kafka": func(t *testing.T) destination {
			env := testenv.Kafka(t)
			one := map[string]prover.Outcome{"settings": prover.Limited} // broker
			return destination{[]string{"--brokers", strings.Join(env.Brokers, ",")}, "", env.Topic(t, "scratch", 3), env.Version, one}
		},
		"RabbitMQ": func(t *testing.T) destination {
			rabbit := testenv.Rabbit(t)
			conn, err := amqp.Dial(rabbit.URL)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			channel, err := conn.Channel()
			require.NoError(t, err)
			_, err = channel.QueueDeclare("scratch", true, false, false, false, nil)
			require.NoError(t, err)
			return destination{nil, rabbit.URL, "scratch", rabbit.Version, nil}
		},
		"Redis": func(t *testing.T) destination {
			private := testenv.PrivateRedis(t, map[string]string{"appendonly": "yes", "appendfsync": "always"})
			client := redis.NewClient(&redis.Options{Addr: private.Addr})
			t.Cleanup(func() { _ = client.Close() })
			require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "scratch", Values: []string{"payload", "of before"}}).Err())
			makes := map[string]prover.Outcome{"topics.missing": prover.Limited}
			return destination{[]string{"--sink", "redis://" + private.Addr + "/0"}, "", "scratch", private.Version, makes}
		},
		"NATS": func(t *testing.T) destination {
			one := map[string]prover.Outcome{"settings": prover.Limited} // server
			return destination{nil, onNATS(t).url, "orders", server.VERSION, one}
		},
	}
}

// Each destination, on a topic that is for nothing else.
func TestProveSink(t *testing.T) {
	t.Parallel()
	for name, start := range destinations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t)
			o := d.session(t)
			for range 2 { // what an earlier run has sent is in nobody's way
				found := o.proven(0, append(d.args, "--to", d.topic)...)
				require.Len(t, found, 6)
				for probe, f := range found {
					outcome := prover.OK
					if o, ok := d.want[probe]; ok {
						outcome = o
					}
					require.Equal(t, outcome, f.Outcome, "%s: %q", probe, f.Details)
				}
			}
			if name == "Redis" { // which makes it
				return
			}
			found := o.proven(5, append(d.args, "--to", d.topic+"-other", "--only", "answers")...)
			requireOutcome(t, found["answers"], prover.Broken, fmt.Sprintf("topic %s-other does not take records", d.topic))
		})
	}
}

// What cannot be meant is said before anything is opened.
func TestProveSink_Refuses(t *testing.T) {
	t.Parallel()
	o := newSession(t, "")
	for reason, args := range map[string][]string{
		"must name a topic with --brokers or --sink": {"--sink", "nats://h"},
		"must not have a password":                   {"--to", "x", "--sink", "redis://ann:secret@h/0"},
		"must begin with amqp://":                    {"--to", "x", "--sink", "https://example.com/"},
		"must name a broker":                         {"--to", "x"},
	} {
		r := o.leat(append([]string{"prove"}, args...)...)
		require.Equal(t, 2, r.code, r.err)
		require.Contains(t, r.err, reason)
	}
}
