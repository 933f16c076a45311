package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// The services that run as processes of their own.
const (
	roleIngest     = "ingest"
	roleRelay      = "relay"
	roleConsumer   = "consumer"
	roleDuplicator = "duplicator"
)

// envSettings hands a service its settings.
const envSettings = "QUICKSTART_SETTINGS"

// settings are what a service needs to know. Ours come in one variable of the
// environment, as JSON.
type settings struct {
	// Role is which service this process is.
	Role string
	// On is the database that outboxes and inboxes are in.
	On databaseName
	// ProducerDB and ConsumerDB are the addresses of the services' databases.
	ProducerDB, ConsumerDB string
	// Brokers are Kafka's seed addresses.
	Brokers []string
	// Topic carries the webhooks, Counted what the consumer makes of them.
	Topic, Counted string
	// Group is the consumer's group.
	Group string

	// The rest is the test bench's.

	// Events is how many webhooks arrive, InFlight how many of them in the storm may be
	// without an effect yet.
	Events, InFlight int
	// Seed decides which transactions roll back.
	Seed uint64
	// Sabotage is the rule that is broken, if any.
	Sabotage sabotage
	// CrashAfter makes the first relay that has sent so many records hold still,
	// before it settles them, so that it can be killed there. 0 is never.
	CrashAfter int
	// Dir is where the services keep their logs.
	Dir string
}

func (s settings) environment() (string, error) {
	raw, err := json.Marshal(s)
	return envSettings + "=" + string(raw), err
}

// settingsFromEnvironment returns false where there are none.
func settingsFromEnvironment() (s settings, ok bool, err error) {
	raw, ok := os.LookupEnv(envSettings)
	if !ok {
		return s, false, nil
	}
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return s, true, fmt.Errorf("%s: %w", envSettings, err)
	}
	return s, true, nil
}

// lifeline returns a context that ends when the demo does, whatever ended it: the
// demo holds the other end of our standard input. No process outlives it.
func lifeline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the process at the latest
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx, cancel
}

// report is what a service tells the demo, a line of JSON on standard output.
type report struct {
	// Leading tells that a relay has got the lease, Ready that the consumer has its
	// partitions, Calm that the ingest service's calm phase is over.
	Leading, Ready, Calm bool `json:",omitempty"`
	// Sent counts the records that Kafka has acknowledged to a relay, Unsettled
	// those of them that it has not settled in the outbox yet.
	Sent, Unsettled int `json:",omitempty"`
}

func (r report) send() error {
	return json.NewEncoder(os.Stdout).Encode(r)
}
