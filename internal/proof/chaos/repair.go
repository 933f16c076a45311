package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const (
	// refusesWithin is how long it may take until a relay refuses.
	refusesWithin = 10 * time.Second
	// standsFor is how long relays must stand and refuse before the operator acts, once
	// the log has grown by so much that maintenance has a range to delete, or as much
	// longer as standsLonger. Nothing of it may be deleted meanwhile.
	standsFor    = 5 * time.Second
	standsLonger = 10 * time.Second
)

// letStand lets relays stand that refuse.
func (in *injection) letStand(ctx context.Context) {
	last := in.inBank(`SELECT pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq'))`)
	from, err := last(ctx)
	for end := time.Now().Add(standsLonger); err == nil && time.Now().Before(end); wait.Full(ctx, 100*time.Millisecond) {
		if now, err := last(ctx); err == nil && now > from+roles.RangeSize+roles.RangeSize/2 {
			break
		}
	}
	wait.Full(ctx, standsFor)
}

// repair does for the relays of a role what operators are told to do when relays refuse,
// and returns what was done. Relays that do not refuse have to do without.
func (in *injection) repair(ctx context.Context, role string) (string, error) {
	if !in.refuses(ctx, role, refusesWithin) {
		return "none refused", nil
	}
	in.letStand(ctx)
	if !in.refuses(ctx, role, 0) {
		return "the refusal has worn off by itself", nil
	}
	members := in.processes.of(role)
	holdAll(members)
	defer releaseAll(members)
	pool := in.stage.bank
	if role == roles.Exact {
		pool = in.stage.ledger
		if err := in.stage.removePositions(ctx); err != nil {
			return "", err
		}
	}
	return "refused, rebased", rebase(ctx, pool)
}

// refusedLately is how old the last refusal may be of a relay that still refuses.
const refusedLately = 3 * time.Second

// refuses waits until a relay of the role refuses, and reports whether one does.
func (in *injection) refuses(ctx context.Context, role string, within time.Duration) bool {
	for end := time.Now().Add(within); ; wait.Full(ctx, 50*time.Millisecond) {
		for _, p := range in.processes.of(role) {
			p.mu.Lock()
			refused := p.refused
			p.mu.Unlock()
			if time.Since(refused) < refusedLately {
				return true
			}
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// rebase has the group start over, as soon as its leases have run out.
func rebase(ctx context.Context, pool *pgxpool.Pool) error {
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	for end := time.Now().Add(goOnWithin); ; {
		err := ob.Rebase(ctx, pgoutbox.RebaseRequest{
			Start: pgoutbox.StartOldest(), Actor: "operator", Reason: wentBack,
		})
		if !errors.Is(err, driver.ErrLeaseHeld) || time.Now().After(end) {
			return err
		}
		wait.Full(ctx, 200*time.Millisecond)
	}
}

// removePositions removes the positions that Kafka keeps for the exact relays.
func (st *stage) removePositions(ctx context.Context) (err error) {
	sink, err := kafkasink.NewTransactional([]string{st.kafka.Address}, roles.ExactSink())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	_, err = sink.RemovePositions(ctx, kafkasink.RemoveRequest{Actor: "operator", Reason: wentBack})
	return err
}

// wentBack is the operator's reason.
const wentBack = "the database went back"
