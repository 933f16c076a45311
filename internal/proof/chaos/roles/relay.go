package roles

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// KeepFor is how long the log keeps settled records. It is short enough for some of the log to be dropped
// during a run.
const KeepFor = 3 * time.Second

// RelaySlots is the number of slots of the bank's relays.
const RelaySlots = 2

// relay carries an outbox to Kafka until ctx ends, and keeps the log short.
func (p *process) relay(ctx context.Context) (err error) {
	if p.Sabotage == IDCursor && p.Role == Relay {
		return p.relayByNumber(ctx)
	}
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	source, err := s.source()
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(p.Brokers, kafkasink.Config{
		Options: p.kafkaOptions(), Logger: p.log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	r, err := relay.New(source, sink, p.relayConfig(relay.Policy{Action: relay.Park, Attempts: 3}))
	if err != nil {
		return err
	}
	round, err := s.maintenance()
	if err != nil {
		return err
	}
	return p.runRelay(ctx, r, round)
}

// refusedFor is how long a relay that has refused its source waits before it tries again, as if a
// supervisor had restarted it.
const refusedFor = 300 * time.Millisecond

// runRelay runs a relay, and the maintenance of the log at the same time. If the relay refuses its source,
// it runs it again.
func (p *process) runRelay(ctx context.Context, r *relay.Relay, round func(context.Context) error) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() { p.maintain(ctx, round) })
	for {
		err := r.Run(ctx)
		if err == nil || !errors.Is(err, driver.ErrSourceUnusable) {
			return err
		}
		p.refuse(ctx, err)
		if !wait.Full(ctx, refusedFor) {
			return nil
		}
	}
}

// refuse reports to the driver that a relay has refused its source.
func (p *process) refuse(ctx context.Context, err error) {
	p.log.WarnContext(ctx, "the relay refuses to work", slog.Any("error", err))
	p.watch.seen("refused")
	p.reports.say(Report{Said: SaidRefused})
}

// exact carries the ledger's outbox to Kafka exactly once.
func (p *process) exact(ctx context.Context) (err error) {
	s, err := p.openPostgres(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	source, err := s.Source(pgoutbox.SourceConfig{SyncPositions: true})
	if err != nil {
		return err
	}
	cfg := ExactSink()
	cfg.Options, cfg.Logger = p.kafkaOptions(), p.log
	sink, err := kafkasink.NewTransactional(p.Brokers, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	r, err := relay.New(source, sink, p.relayConfig(relay.Policy{Action: relay.Block}))
	if err != nil {
		return err
	}
	round, err := s.maintenance()
	if err != nil {
		return err
	}
	return p.runRelay(ctx, r, round)
}

// ExactSink returns the configuration of the exact relays' sink.
func ExactSink() kafkasink.TransactionalConfig {
	return kafkasink.TransactionalConfig{
		TransactionalIDPrefix: "exact-", PositionTopic: TopicPositions, TransactionTimeout: 10 * time.Second,
	}
}

// relayConfig returns a configuration with short durations, so that a takeover does not take long.
func (p *process) relayConfig(policy relay.Policy) relay.Config {
	return relay.Config{
		PageSize: 500, Lease: RelayLease, PublishTimeout: PublishTimeout, LeaseMargin: 300 * time.Millisecond,
		PollMax: RelayPoll, BackoffMin: 10 * time.Millisecond, BackoffMax: 300 * time.Millisecond,
		DrainTimeout: 4 * time.Second, Policies: []relay.Policy{policy}, Logger: p.log,
		Hooks: []outbox.Hook{relayEyes{p}},
	}
}

// relayEyes report the events of a relay.
type relayEyes struct{ *process }

// OnRelaySend implements relay.SendHook.
func (e relayEyes) OnRelaySend(_ context.Context, sent relay.SendEvent) {
	records, results := sent.Records, sent.Results
	failed := false
	for i := range records {
		switch {
		case results[i].Err == nil:
			e.note(history.Line{Type: history.Acked, ID: records[i].ID})
		case !isUndeliverable(records[i].Type):
			failed = true
		}
	}
	if failed {
		e.observe("destination/kafka")
		e.watch.seen("records not acknowledged, sent again")
	}
}

// observe adds to the history that records will be repeated, even if only a slow machine is the reason.
// This is not an injected fault, but it explains copies.
func (e relayEyes) observe(point string) {
	now := right()
	if last := e.outageAt.Swap(now.UnixMicro()); now.UnixMicro()-last < RelayLease.Microseconds() {
		return
	}
	e.note(history.Line{Type: history.Fault, Point: point, Kind: KindObserved, Target: e.Name})
}

// OnRelayProgress implements relay.ProgressHook.
func (e relayEyes) OnRelayProgress(_ context.Context, p relay.ProgressEvent) {
	e.settled.Add(int64(p.Settled))
}

// OnRelayLease implements relay.LeaseHook.
func (e relayEyes) OnRelayLease(_ context.Context, lease relay.LeaseEvent) {
	switch {
	case lease.Held:
		e.watch.seen("takeover: a lease was claimed")
	case lease.Err != nil:
		if e.Store == SQLite { // SQLite: all writers wait for one, so a lease may expire without a fault
			e.observe("lease/" + e.Role)
		}
		e.watch.seen("lease lost")
	}
}

// OnRelayError implements relay.ErrorHook.
func (e relayEyes) OnRelayError(_ context.Context, survived relay.ErrorEvent) {
	e.watch.seen("retry of " + survived.Operation)
}

// maintain runs a round of maintenance every second until ctx ends.
func (p *process) maintain(ctx context.Context, round func(context.Context) error) {
	for wait.Full(ctx, time.Second) {
		err := round(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, driver.ErrLeaseHeld) {
			p.watch.seen("maintenance tried again")
			p.log.WarnContext(ctx, "maintenance", slog.Any("error", err))
		}
	}
}
