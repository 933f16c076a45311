package chaos

import (
	"context"
	_ "embed" // for the source of a library
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

// pointClock is the point of acts that move clocks. Kinds with the prefix own move the clocks of the run's
// own processes.
const (
	pointClock = "clock"
	own        = "own-"
)

const (
	// jumped is how long a clock is off.
	jumped = 2 * time.Second
	// rightWithin is how long the system may take to catch up once the clocks are right again.
	rightWithin = time.Minute
	// greatestLag is the maximum lag of the bank's group while a clock jumps. No relay ever falls that far
	// behind.
	greatestLag = 10 * time.Minute
	// remembered is how long Redis remembers. A larger jump makes it forget, which cannot be prevented.
	remembered = 24 * time.Hour
)

// clockActs returns the acts that move the clocks of the store's server and of Redis.
func (in *injection) clockActs() []act { return in.actsOfClocks("", in.stage.moveServers) }

func (in *injection) actsOfClocks(whose string, moves ...move) []act {
	return []act{
		{pointClock, whose + "seconds", in.clocksMoved(30*time.Second, moves)},
		{pointClock, whose + "hours", in.clocksMoved(3*time.Hour, moves)},
		{pointClock, whose + "months", in.clocksMoved(60*24*time.Hour, moves)},
	}
}

// move moves some clocks by the given amount from the right time.
type move func(by time.Duration) error

// clocksMoved returns an act that moves clocks ahead, back, behind and back again. For a moment relays
// cannot reach Kafka, so that some records must be retried. The system must go on, and nothing may wait
// once the clocks are right. The act begins when nothing waits, since a slow machine may have left a
// backlog.
func (in *injection) clocksMoved(by time.Duration, moves []move) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) error {
		in.comesToRest(ctx, "before the clock jumps", catchUpWithin)
		lag := admin.MaxLagRequest{By: admin.By{Actor: "operator", Reason: "clocks jump"}, Group: "default", MaxLag: greatestLag}
		if err := in.ground().setMaxLag(ctx, lag); err != nil {
			return err
		}
		for _, moveBy := range moves {
			for _, off := range []time.Duration{by, -by} {
				if err := in.whileOff(ctx, off, moveBy); err != nil {
					return err
				}
				in.comesToRest(ctx, fmt.Sprintf("the clock was off by %s and is right", off), rightWithin)
			}
		}
		lag.MaxLag = 0
		f.consequence = "all has gone on"
		return in.ground().setMaxLag(ctx, lag)
	}
}

// whileOff sets clocks wrong for a while, and checks that transfers still arrive.
func (in *injection) whileOff(ctx context.Context, off time.Duration, moveBy move) error {
	heal := in.stage.relaysKafka.reset()
	err := errors.Join(wait.For(ctx, 100*time.Millisecond), moveBy(off), wait.For(ctx, jumped/2))
	if err = errors.Join(err, heal(), wait.For(ctx, jumped/2)); err == nil && !in.flows(ctx, goOnWithin) {
		in.stood("the clock is off by %s: no transfer has arrived within %s", off, goOnWithin)
	}
	return errors.Join(err, moveBy(0))
}

// comesToRest makes the bank rest and waits until everything is sent and has had its effect.
func (in *injection) comesToRest(ctx context.Context, when string, within time.Duration) {
	banks := in.processes.of(roles.Bank)
	tellAll(banks, roles.Command{Do: roles.DoRest})
	in.clears(ctx, when+": records to send", within, bounded(in.ground().toSend))
	in.clears(ctx, when+": messages to consume", within, bounded(func(ctx context.Context) (int64, error) {
		return in.stage.behind(ctx, roles.Ledger, roles.TopicTransfers)
	}))
	tellAll(banks, roles.Command{Do: roles.DoWork})
}

// shift is the source of a library that moves clocks.
//
//go:embed clock/shift.c
var shift string

// clocked returns the programs of servers whose clocks can be moved.
func clocked() []string {
	return []string{"postgres", "mysqld", "mariadbd", "redis-server", "valkey-server"}
}

// openClocks prepares the clocks that acts will move: those of processes, and of servers that are started
// from now on.
func (st *stage) openClocks(ctx context.Context) error {
	ofServers, ofProcesses := st.options.movesClocks()
	if !ofServers && !ofProcesses {
		return nil
	}
	dir, err := os.MkdirTemp("", "leat-clocks-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	st.later(func() error { return os.RemoveAll(dir) })
	st.clocks = dir
	if ofProcesses {
		err = st.buildMovable(ctx)
	}
	if ofServers && err == nil {
		err = st.preload(ctx)
	}
	return err
}

// movesClocks reports whether acts move the clocks of servers, and of processes.
func (o Options) movesClocks() (ofServers, ofProcesses bool) {
	for _, name := range o.Acts {
		if kind, ok := strings.CutPrefix(name, pointClock+"/"); ok {
			isOwn := strings.HasPrefix(kind, own)
			ofServers, ofProcesses = ofServers || !isOwn, ofProcesses || isOwn
		}
	}
	return ofServers, ofProcesses
}

// preload makes servers load a library that moves their clocks. It needs a C compiler.
func (st *stage) preload(ctx context.Context) error {
	dir := st.clocks
	source, library := filepath.Join(dir, "shift.c"), filepath.Join(dir, "shift.so")
	if err := errors.Join(os.WriteFile(source, []byte(shift), 0o600), st.moveServers(0)); err != nil {
		return err
	}
	if said, err := exec.CommandContext(ctx, "cc", "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil { //nolint:gosec // ours
		return fmt.Errorf("acts of point %s need a C compiler, cc: %w\n%s", pointClock, err, said)
	}
	for _, path := range []string{dir, library} { // each server runs as a user of its own
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // it is not secret
			return fmt.Errorf("open a directory to servers: %w", err)
		}
	}
	for name, value := range map[string]string{"LD_PRELOAD": library, "CLOCK_SHIFT": dir} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
		st.later(func() error { return os.Unsetenv(name) })
	}
	return nil
}

// moveServers moves the clocks of servers by the given amount from the right time.
func (st *stage) moveServers(by time.Duration) error {
	for _, program := range clocked() {
		off := by
		if strings.HasSuffix(program, "-server") && off.Abs() >= remembered {
			off = 0
		}
		path := filepath.Join(st.clocks, program)
		err := os.WriteFile(path+".new", []byte(strconv.FormatInt(int64(off/time.Second), 10)), 0o644) //nolint:gosec // servers read it
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			return fmt.Errorf("move a clock: %w", err)
		}
	}
	return nil
}
