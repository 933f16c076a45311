package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// runRelay is the service that carries committed events from the outbox to
// Kafka. It may run in any number of replicas: one leads, the others stand by.
func runRelay(ctx context.Context, s settings) error {
	db, err := openStore(ctx, s.On, s.Database)
	if err != nil {
		return err
	}
	defer db.close()
	if s.Sabotage == idCursor {
		return relayByNumber(ctx, s, db)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return carry(ctx, db.source, s.Brokers, logger, &relayBench{stop: ctx.Done(), settings: s})
}

// carry relays source to Kafka until ctx ends, then waits for records in flight.
func carry(ctx context.Context, source driver.Source, brokers []string, logger *slog.Logger, hooks ...outbox.Hook) (err error) {
	sink, err := kafkasink.New(brokers, kafkasink.Config{Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	r, err := relay.New(source, sink, relay.Config{
		// Webhooks are large, some ten kilobytes each, and a takeover should not take
		// long; the defaults are for smaller events and calmer times.
		PageSize:       500,
		Lease:          3 * time.Second,
		PublishTimeout: 2 * time.Second,
		LeaseMargin:    300 * time.Millisecond,
		Logger:         logger,
		Hooks:          hooks,
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// report is a relay's report to the demo, a line of JSON on standard output.
type report struct {
	// Leading is set if the relay has the lease.
	Leading bool `json:",omitempty"`
	// Sent counts the records that Kafka has acknowledged to the relay. Unsettled counts those of them
	// that it has not settled in the outbox yet.
	Sent, Unsettled int `json:",omitempty"`
}

func (r report) send() error {
	return json.NewEncoder(os.Stdout).Encode(r)
}

// relayBench reports to the demo what a relay does, and stops one at its weakest moment: Kafka has
// acknowledged records, and the outbox does not know it yet.
type relayBench struct {
	settings settings
	stop     <-chan struct{}
	sent     int
}

// OnRelayLease reports which relay leads.
func (b *relayBench) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if e.Held {
		_ = report{Leading: true}.send()
	}
}

// OnRelaySend counts. The first relay that has sent CrashAfter records never returns from it: the
// position stays where it is, and the demo kills the relay.
func (b *relayBench) OnRelaySend(_ context.Context, e relay.SendEvent) {
	acked := 0
	for _, r := range e.Results {
		if r.Err == nil {
			acked++
		}
	}
	b.sent += acked
	if after := b.settings.CrashAfter; after == 0 || b.sent < after || acked == 0 || b.settings.crashed() {
		return
	}
	_ = report{Sent: b.sent, Unsettled: acked}.send()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !b.settings.crashed() { // until another relay was killed instead
		select {
		case <-ticker.C:
		case <-b.stop:
			return
		}
	}
}

// crashedFile exists once a relay was killed: one is enough.
func (s settings) crashedFile() string { return filepath.Join(s.Dir, "crashed") }

func (s settings) crashed() bool {
	_, err := os.Stat(s.crashedFile())
	return err == nil
}
