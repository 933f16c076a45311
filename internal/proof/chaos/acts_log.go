package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// hiddenFor is how long row level security hides the log.
const hiddenFor = 3 * time.Second

// rowSecurity switches row level security on for the bank's log, with a policy for
// producers alone, and off again.
func (in *injection) rowSecurity(ctx context.Context, _ *fault) error {
	if _, err := in.stage.bank.Exec(ctx, `
		ALTER TABLE leat.outbox ENABLE ROW LEVEL SECURITY;
		ALTER TABLE leat.outbox FORCE ROW LEVEL SECURITY;
		CREATE POLICY producers ON leat.outbox FOR INSERT WITH CHECK (true)`); err != nil {
		return fmt.Errorf("switch row level security on: %w", err)
	}
	wait.Full(ctx, hiddenFor)
	if _, err := in.stage.bank.Exec(ctx, `
		DROP POLICY producers ON leat.outbox;
		ALTER TABLE leat.outbox NO FORCE ROW LEVEL SECURITY;
		ALTER TABLE leat.outbox DISABLE ROW LEVEL SECURITY`); err != nil {
		return fmt.Errorf("switch row level security off: %w", err)
	}
	return nil
}

const (
	// backBy is how far the sequence goes back at most when the log is truncated. At least backAtLeast must
	// be possible.
	backBy      = 300
	backAtLeast = 100
)

// truncated empties the bank's log when all of it was sent, sets its numbers back, and starts the
// producers before the relays.
func (in *injection) truncated(ctx context.Context, f *fault) error {
	st, bank, relays := in.stage, in.processes.of(roles.Bank), in.processes.of(roles.Relay)
	in.clears(ctx, "numbers to go back by", goOnWithin, in.inBank(
		`SELECT greatest(0, $1 - (pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq')) - (`+firstNumberSQL+`)))`, backAtLeast))
	holdAll(bank)
	defer releaseAll(bank) // releasing twice does no harm
	in.clears(ctx, "messages before the log is truncated", goOnWithin, bounded(in.ground().toSend))
	holdAll(relays)
	defer releaseAll(relays)
	var last int64
	err := st.bank.QueryRow(ctx, `SELECT pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq'))`).Scan(&last)
	if err != nil {
		return fmt.Errorf("read the sequence: %w", err)
	}
	if _, err := st.bank.Exec(ctx, `TRUNCATE leat.outbox RESTART IDENTITY`); err != nil {
		return fmt.Errorf("truncate the log: %w", err)
	}
	if _, err := st.bank.Exec(ctx, `
		SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), greatest($1::bigint, (`+firstNumberSQL+`)))`, last-backBy); err != nil {
		return fmt.Errorf("set the sequence: %w", err)
	}
	releaseAll(bank)
	in.clears(ctx, "numbers until the log is where it was", goOnWithin, in.inBank(
		`SELECT greatest(0, $1::bigint - pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq')))`, last+backAtLeast/2))
	releaseAll(relays)
	f.consequence, err = in.repair(ctx, roles.Relay)
	return err
}

// emptiedInPlace returns an act that empties the bank's log under running relays that have sent all
// of it.
func (in *injection) emptiedInPlace(s *sqlStore) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) error {
		banks := in.processes.of(roles.Bank)
		holdAll(banks)
		defer releaseAll(banks)
		in.clears(ctx, "messages before the log is emptied", goOnWithin, bounded(in.ground().toSend))
		err := s.emptyLog(ctx)
		releaseAll(banks)
		if err == nil {
			f.consequence, err = in.repair(ctx, roles.Relay)
		}
		return err
	}
}

// firstNumberSQL selects the first number for which the log still has a range.
const firstNumberSQL = `
	SELECT coalesce(min((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''?(\d+)'))[1]::bigint), 1)
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'leat.outbox'::regclass`

// burnt is the least number of numbers that are drawn and rolled back above the last commit.
const burnt = 60

// sequenceBack does what scripts do after a restore: it sets the sequence to the greatest committed
// number, although numbers above it were drawn and rolled back. It does so once under relays that have
// sent everything, and once before relays start and find a backlog.
func (in *injection) sequenceBack(ctx context.Context, f *fault) error {
	relays := in.processes.of(roles.Relay)
	if err := in.setBack(ctx, func() {
		in.clears(ctx, "messages before the sequence is set back", goOnWithin, bounded(in.ground().toSend))
	}); err != nil {
		return err
	}
	under, err := in.repair(ctx, roles.Relay)
	if err != nil {
		return err
	}
	holdAll(relays)
	defer releaseAll(relays)
	wait.Full(ctx, time.Second) // a backlog builds up
	if err := in.setBack(ctx, func() {}); err != nil {
		return err
	}
	releaseAll(relays)
	before, err := in.repair(ctx, roles.Relay)
	f.consequence = "under relays: " + under + "; before they start: " + before
	return err
}

// setBack draws numbers above the bank's last commits and rolls them back, sets the sequence back, and
// makes the bank draw the numbers again. Running relays read the last commits after the first draw, and
// read the log again after the second.
func (in *injection) setBack(ctx context.Context, sent func()) error {
	bank, relays := in.processes.of(roles.Bank), in.processes.of(roles.Relay)
	defer signalAll(relays, contSignal)
	signalAll(relays, syscall.SIGSTOP)
	holdAll(bank)
	defer releaseAll(bank)
	if _, err := in.stage.bank.Exec(ctx, `
		SELECT nextval(pg_get_serial_sequence('leat.outbox', 'seq')) FROM generate_series(1, $1)`, burnt); err != nil {
		return fmt.Errorf("draw numbers: %w", err)
	}
	signalAll(relays, contSignal)
	sent()
	wait.Full(ctx, 2*roles.RelayPoll)
	signalAll(relays, syscall.SIGSTOP)
	var drawn, last int64
	err := in.stage.bank.QueryRow(ctx, `SELECT pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq'))`).Scan(&drawn)
	if err == nil {
		err = in.stage.bank.QueryRow(ctx, `
			SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), max(seq)) FROM leat.outbox`).Scan(&last)
	}
	if err != nil {
		return fmt.Errorf("set the sequence back: %w", err)
	}
	fmt.Fprintf(in.stage.options.Out, "the sequence is set back from %d to %d\n", drawn, last)
	releaseAll(bank)
	in.clears(ctx, "numbers until the sequence is where it was", goOnWithin, in.inBank(
		`SELECT greatest(0, $1::bigint - pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq')))`, drawn+burnt))
	return nil
}

// holdAll holds all processes at the same time.
func holdAll(all []*process) {
	var group sync.WaitGroup
	for _, p := range all {
		group.Go(p.hold)
	}
	group.Wait()
}

func signalAll(all []*process, s syscall.Signal) {
	for _, p := range all {
		p.signal(s)
	}
}

func tellAll(all []*process, c roles.Command) {
	for _, p := range all {
		p.tell(c)
	}
}

func releaseAll(all []*process) {
	for _, p := range all {
		p.release()
	}
}
