package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// goesOnFor is how long the system runs before it loses the changes of that time.
const goesOnFor = 3 * time.Second

// loss is a period that the databases have lost. Until is when the server is back: a relay whose
// positions are in Kafka can send what it has read after the server has ended.
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

// goBack saves the state of the databases, lets the system run, and makes the server lose the
// changes since. Then the operator repairs the system.
func (in *injection) goBack(ctx context.Context, f *fault, save, lose func(context.Context) error) error {
	st := in.stage
	offsets, err := kadm.NewClient(st.client).FetchOffsets(ctx, roles.Ledger)
	if err != nil {
		return fmt.Errorf("offsets of %s: %w", roles.Ledger, err)
	}
	from := time.Now()
	if err := save(ctx); err != nil {
		return err
	}
	if !in.flows(ctx, goOnWithin) {
		in.stood("nothing goes on after the data was copied")
	}
	settled := in.settled(roles.Exact)
	in.clears(ctx, "receipts to be sent after the data was copied", goOnWithin, func(context.Context) (int64, error) {
		return settled + 1 - in.settled(roles.Exact), nil
	})
	wait.Full(ctx, goesOnFor)
	// Members that went on would apply later messages before they are set back to read the earlier ones
	// again.
	members := in.processes.of(roles.Ledger)
	holdAll(members)
	defer releaseAll(members)
	if err := st.postgres.End(ctx, syscall.SIGQUIT); err != nil {
		return err
	}
	until := time.Now()
	if err := errors.Join(lose(ctx), in.tell(from, until)); err != nil {
		return err
	}
	st.losses = append(st.losses, loss{from, time.Now()})
	st.bank.Reset()
	st.ledger.Reset()
	if err := in.rereadFrom(ctx, offsets); err != nil {
		return err
	}
	releaseAll(members)
	return in.repairAll(ctx, f)
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

// tell records that both databases have lost a period, and the notifier's effects with the
// ledger's.
func (in *injection) tell(from, until time.Time) error {
	var errs []error
	for _, consumer := range []string{"", roles.Ledger, roles.Notifier} {
		errs = append(errs, in.tally.log.Write(history.Line{
			Type: history.Rewound, At: from.UnixMicro(), Until: until.UnixMicro(), Consumer: consumer,
		}))
	}
	return errors.Join(errs...)
}

// rereadFrom sets the ledger's group back to earlier offsets. That requires a group without
// members.
func (in *injection) rereadFrom(ctx context.Context, offsets kadm.OffsetResponses) error {
	admin := kadm.NewClient(in.stage.client)
	for end := time.Now().Add(goOnWithin); ; {
		done, err := admin.CommitOffsets(ctx, roles.Ledger, offsets.Offsets())
		if err == nil {
			err = done.Error()
		}
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("set the group %s back: %w", roles.Ledger, err)
		}
		wait.Full(ctx, 200*time.Millisecond) // a killed member still counts as a member
	}
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
