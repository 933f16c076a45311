package chaos

import (
	"context"
	"fmt"
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
	// backBy is how far the sequence goes back when the log is truncated, at most;
	// backAtLeast must be possible.
	backBy      = 300
	backAtLeast = 100
)

// truncated empties the bank's log when all of it was sent, sets its numbers back, and has
// the producers go on before the relays do.
func (in *injection) truncated(ctx context.Context, f *fault) error {
	st, bank, relays := in.stage, in.processes.of(roles.Bank), in.processes.of(roles.Relay)
	in.clears(ctx, "numbers to go back by", goOnWithin, in.inBank(
		`SELECT greatest(0, $1 - (pg_sequence_last_value(pg_get_serial_sequence('leat.outbox', 'seq')) - (`+firstNumberSQL+`)))`, backAtLeast))
	holdAll(bank)
	defer releaseAll(bank) // twice does no harm
	in.clears(ctx, "messages before the log is truncated", goOnWithin, in.inBank(`SELECT count(*) FROM leat.outbox_pending`))
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

// firstNumberSQL is the first number for which the log still has a range.
const firstNumberSQL = `
	SELECT coalesce(min((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''?(\d+)'))[1]::bigint), 1)
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'leat.outbox'::regclass`

func holdAll(all []*process) {
	for _, p := range all {
		p.hold()
	}
}

func releaseAll(all []*process) {
	for _, p := range all {
		p.release()
	}
}
