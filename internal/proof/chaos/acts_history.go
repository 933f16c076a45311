package chaos

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// goesOnFor is how long the system runs after the state was saved. The changes of that time are lost.
const goesOnFor = 3 * time.Second

// loss is a period whose changes the databases have lost. until is the time at which the server is back: a
// relay whose positions are in Kafka can send what it read even after the server has ended.
type loss struct{ from, until time.Time }

// mayRepeat reports whether a receipt may occur again because the databases went back after its
// first copy.
func (st *stage) mayRepeat(first, again time.Time) bool {
	for _, l := range st.losses {
		if first.Before(l.until) && again.After(l.from) {
			return true
		}
	}
	return false
}

// restored replaces the server's data with a copy.
func (in *injection) restored(ctx context.Context, f *fault) error {
	return in.goBack(ctx, f, in.stage.copyData, in.stage.putBack)
}

// promoted promotes a standby that has received nothing since the copy.
func (in *injection) promoted(ctx context.Context, f *fault) error {
	return in.goBack(ctx, f, in.stage.copyData, in.stage.promote)
}

// otherCluster restores a dump of the databases into a new cluster.
func (in *injection) otherCluster(ctx context.Context, f *fault) error {
	return in.goBack(ctx, f, in.stage.dumpDatabases, in.stage.restoreDatabases)
}

// goBack saves the state of the databases, lets the system run, and makes the server lose the changes
// since. Then the operator repairs the relays. The consumers are not repaired: they run all the time, and
// must recover by themselves.
func (in *injection) goBack(ctx context.Context, f *fault, save, lose func(context.Context) error) error {
	st := in.stage
	from := time.Now()
	if err := save(ctx); err != nil {
		return err
	}
	if !in.flows(ctx, goOnWithin) {
		in.stood("nothing goes on after the data was copied")
	}
	in.sends(ctx)
	wait.Full(ctx, goesOnFor)
	if err := st.postgres.End(ctx, syscall.SIGQUIT); err != nil {
		return err
	}
	until := time.Now()
	if err := errors.Join(lose(ctx), in.tell(from, until, until)); err != nil {
		return err
	}
	st.losses = append(st.losses, loss{from, time.Now()})
	st.store.forget()
	return in.repairAll(ctx, f)
}

// sends waits until the exact relays have sent receipts that were written from now on.
func (in *injection) sends(ctx context.Context) {
	settled := in.settled(roles.Exact)
	in.clears(ctx, "receipts to be sent after the data was copied", goOnWithin, func(context.Context) (int64, error) {
		return settled + 1 - in.settled(roles.Exact), nil
	})
}

// repairAll repairs the relays of both databases side by side.
func (in *injection) repairAll(ctx context.Context, f *fault) error {
	var group sync.WaitGroup
	all := []string{roles.Relay, roles.Exact}
	did, errs := make([]string, len(all)), make([]error, len(all))
	for i, role := range all {
		group.Go(func() {
			did[i], errs[i] = in.repair(ctx, role)
			did[i] = role + ": " + did[i]
		})
	}
	group.Wait()
	f.consequence = strings.Join(did, "; ")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return in.supplyAgain(ctx)
}

// tell records in the history that both databases have lost a period. The notifier's effects are lost with
// the ledger's.
func (in *injection) tell(from, bankUntil, ledgerUntil time.Time) error {
	var errs []error
	for consumer, until := range map[string]time.Time{"": bankUntil, roles.Ledger: ledgerUntil, roles.Notifier: ledgerUntil} {
		errs = append(errs, in.tally.log.Write(history.Line{
			Type: history.Rewound, At: from.UnixMicro(), Until: until.UnixMicro(), Consumer: consumer,
		}))
	}
	return errors.Join(errs...)
}

// copyPath is the path of the copy of the data.
func (st *stage) copyPath() string { return filepath.Join(st.postgres.Dir(), "copy") }

// copyData copies the server's data while it is stopped, like a snapshot of its disk.
func (st *stage) copyData(ctx context.Context) error {
	if err := st.postgres.End(ctx, syscall.SIGINT); err != nil {
		return err
	}
	if err := st.postgres.CopyData(ctx, st.copyPath()); err != nil {
		return err
	}
	return st.postgres.Start(ctx)
}

// putBack replaces the server's data with the copy.
func (st *stage) putBack(ctx context.Context) error {
	if err := st.postgres.TakeData(ctx, st.copyPath()); err != nil {
		return err
	}
	return st.postgres.Start(ctx)
}
