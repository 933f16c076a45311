package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

const (
	// refusesWithin is how long it may take until a relay refuses.
	refusesWithin = 10 * time.Second
	// standsFor is how long relays must refuse and stand still before the operator acts, in addition to the
	// time until the log is large enough for maintenance to delete a range. standsLonger bounds that time.
	// Nothing of the log may be deleted in either.
	standsFor    = 5 * time.Second
	standsLonger = 10 * time.Second
)

// letStand waits while relays refuse and stand still.
func (in *injection) letStand(ctx context.Context) {
	from, _ := in.stage.store.counted(ctx)
	for end := time.Now().Add(standsLonger); from >= 0 && time.Now().Before(end); wait.Full(ctx, 100*time.Millisecond) {
		if now, _ := in.stage.store.counted(ctx); now > from+roles.RangeSize+roles.RangeSize/2 {
			break
		}
	}
	wait.Full(ctx, standsFor)
}

// repair performs the operator's documented repairs for the relays of a role that refuse, and
// returns what was done. Relays that do not refuse must work without a repair.
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
	if role == roles.Exact {
		if err := in.stage.removePositions(ctx); err != nil {
			return "", err
		}
	}
	return "refused, rebased", in.rebase(ctx, role)
}

// refusedLately is the greatest age of the last refusal of a relay that still refuses.
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

// rebase makes the relays of a role start over, as soon as their leases have expired.
func (in *injection) rebase(ctx context.Context, role string) error {
	for end := time.Now().Add(goOnWithin); ; {
		err := in.ground().rebase(ctx, role)
		if !errors.Is(err, driver.ErrLeaseHeld) && !errors.Is(err, admin.ErrGroupActive) || time.Now().After(end) {
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

// wentBack is the reason that the operator gives.
const wentBack = "the database went back"
