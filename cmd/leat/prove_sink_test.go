package main_test

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/prove"
	"github.com/leat-go/leat/internal/testenv"
)

// Each destination, on a topic that is for nothing else.
func TestProveSink(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (args []string, variable, topic string, want map[string]prove.Outcome){
		"Kafka": func(t *testing.T) ([]string, string, string, map[string]prove.Outcome) {
			env := testenv.Kafka(t)
			return []string{"--brokers", strings.Join(env.Brokers, ",")}, "", env.Topic(t, "scratch", 3), map[string]prove.Outcome{"settings": prove.Limited} // one broker
		},
		"RabbitMQ": func(t *testing.T) ([]string, string, string, map[string]prove.Outcome) {
			url := testenv.Rabbit(t).URL
			conn, err := amqp.Dial(url)
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			channel, err := conn.Channel()
			require.NoError(t, err)
			_, err = channel.QueueDeclare("scratch", true, false, false, false, nil)
			require.NoError(t, err)
			return nil, url, "scratch", nil
		},
		"Redis": func(t *testing.T) ([]string, string, string, map[string]prove.Outcome) {
			address := testenv.PrivateRedis(t, map[string]string{"appendonly": "yes", "appendfsync": "always"}).Addr
			client := redis.NewClient(&redis.Options{Addr: address})
			t.Cleanup(func() { _ = client.Close() })
			require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "scratch", Values: []string{"payload", "of before"}}).Err())
			return []string{"--sink", "redis://" + address + "/0"}, "", "scratch", map[string]prove.Outcome{"topics.missing": prove.Limited}
		},
		"NATS": func(t *testing.T) ([]string, string, string, map[string]prove.Outcome) {
			return nil, onNATS(t).url, "orders", map[string]prove.Outcome{"settings": prove.Limited} // one server
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, variable, topic, want := start(t)
			o := newSession(t, "")
			if variable != "" {
				o.env = append(o.env, "LEAT_SINK_URL="+variable)
			}
			for range 2 { // what an earlier run has sent is in nobody's way
				found := o.proven(0, append(args, "--to", topic)...)
				require.Len(t, found, 6)
				for probe, f := range found {
					outcome := prove.OK
					if o, ok := want[probe]; ok {
						outcome = o
					}
					require.Equal(t, outcome, f.Outcome, "%s: %q", probe, f.Details)
				}
			}
			if name == "Redis" { // which makes it
				return
			}
			found := o.proven(5, append(args, "--to", topic+"-other", "--only", "answers")...)
			requireOutcome(t, found["answers"], prove.Broken, fmt.Sprintf("topic %s-other does not take records", topic))
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
