package chaos

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// Options of a run. The zero value is a short one.
type Options struct {
	// For is how long faults are injected, at least 1 s. Defaults to 1 m.
	For time.Duration
	// Faults ends the injection as soon as this many faults count. Defaults to 0: only For bounds it.
	Faults int
	// Seed determines the faults and their order, as far as the timing of the machine permits. Defaults
	// to 1.
	Seed uint64
	// Dir is the directory for histories, logs and the summary of the run. It is created if it does not
	// exist. Required.
	Dir string
	// Rate is how many transactions the bank begins per second, 1 to 100,000. Defaults to 400.
	Rate int
	// Gap is the mean time between two faults of one process. Defaults to 150 ms, with Tail to 1 s: a tail
	// that was dropped takes a while to come back.
	Gap time.Duration
	// Accounts is the number of the bank's accounts, 2 to 10,000. Defaults to 500.
	Accounts int
	// Drain is how long the system may stand still at the end, without being at rest, before the run
	// stops waiting. Defaults to 1 m.
	Drain time.Duration
	// Acts names the acts to perform; see [Acts]. Defaults to none.
	Acts []string
	// ActGap is the mean time between two acts once each has been performed.
	// Defaults to 40 s.
	ActGap time.Duration
	// Sabotage is a rule to break, one of [Sabotages] of the store. Defaults to none.
	Sabotage string
	// Store is the database of the processes, one of roles.Stores. Those for which roles.IsSQL is true need
	// Extras.Open. DynamoDB has no acts. Defaults to roles.Postgres.
	Store string
	// Tail makes the bank's relays follow PostgreSQL's change log, which gets faults, too. Defaults to
	// false.
	Tail bool
	// Content makes the bank encode its events in Avro and seal them. The schema registry gets faults, too.
	// Such a run has no acts, since some acts write messages with plain SQL. Defaults to false.
	Content bool
	// Extras are additions of the program: an opener of the other stores, or a daemon that relays. Defaults
	// to none.
	Extras roles.Extras
	// Out receives the progress, from several goroutines. Defaults to none.
	Out io.Writer
}

func (o Options) withDefaults() Options {
	setDefault(&o.For, time.Minute)
	setDefault(&o.Seed, 1)
	setDefault(&o.Rate, 400)
	if o.Tail {
		setDefault(&o.Gap, time.Second)
	}
	setDefault(&o.Gap, 150*time.Millisecond)
	setDefault(&o.Accounts, 500)
	setDefault(&o.ActGap, 40*time.Second)
	setDefault(&o.Drain, time.Minute)
	setDefault(&o.Store, roles.Postgres)
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Sabotages returns the rules whose break has a visible effect on a store. SQLite has one writer at a
// time, so a cursor by number skips nothing there. DynamoDB does not read by number. Only PostgreSQL has
// acts by which the ledger's database goes back.
func Sabotages(store string) []string {
	return slices.DeleteFunc(roles.Sabotages(), func(rule string) bool {
		return rule == roles.IDCursor && !hasCursor(store) || rule == roles.NoMarks && store != roles.Postgres
	})
}

func hasCursor(store string) bool { return store != roles.SQLite && store != roles.DynamoDB }

func (o Options) validate() error {
	switch {
	case o.For < time.Second:
		return fmt.Errorf("chaos: For %s must be at least 1s", o.For)
	case o.Faults < 0:
		return fmt.Errorf("chaos: Faults %d must not be negative", o.Faults)
	case o.Dir == "":
		return fmt.Errorf("chaos: Dir %q must be a directory", o.Dir)
	case o.Rate < 1 || o.Rate > 100_000:
		return fmt.Errorf("chaos: Rate %d must be 1 to 100000", o.Rate)
	case o.Accounts < 2 || o.Accounts > 10_000:
		return fmt.Errorf("chaos: Accounts %d must be 2 to 10000", o.Accounts)
	case o.Gap < 0 || o.Drain < 0 || o.ActGap < 0:
		return fmt.Errorf("chaos: Gap %s, Drain %s and ActGap %s must not be negative", o.Gap, o.Drain, o.ActGap)
	case o.Sabotage != "" && !slices.Contains(roles.Sabotages(), o.Sabotage):
		return fmt.Errorf("chaos: Sabotage %q is none of %v", o.Sabotage, roles.Sabotages())
	case o.Sabotage == roles.IDCursor && !hasCursor(o.Store):
		return fmt.Errorf("chaos: Sabotage %q breaks nothing on Store %q: only numbers that are drawn before a commit pass something by", o.Sabotage, o.Store)
	case o.Sabotage == roles.NoMarks && o.Store != roles.Postgres:
		return fmt.Errorf("chaos: Sabotage %q breaks nothing on Store %q: the ledger's database does not go back there", o.Sabotage, o.Store)
	case !slices.Contains(roles.Stores(), o.Store):
		return fmt.Errorf("chaos: Store %q is none of %v", o.Store, roles.Stores())
	case o.Store != roles.Postgres && o.Extras.Daemon != nil:
		return fmt.Errorf("chaos: Store %q cannot be: the daemon relays from PostgreSQL only", o.Store)
	case o.Tail && (o.Store != roles.Postgres || o.Extras.Daemon != nil):
		return fmt.Errorf("chaos: Tail %t is for relays of PostgreSQL, not for Store %q or a daemon", o.Tail, o.Store)
	case o.Content && len(o.Acts) > 0:
		return fmt.Errorf("chaos: Content %t is for runs without Acts, not %v", o.Content, o.Acts)
	case roles.IsSQL(o.Store) && o.Extras.Open == nil:
		return fmt.Errorf("chaos: Store %q needs Extras.Open: use the command of internal/proof/sqltest", o.Store)
	}
	for _, name := range o.Acts {
		if !slices.Contains(Acts(o.Store), name) {
			return fmt.Errorf("chaos: Acts %q is none of those of Store %q: %v", name, o.Store, Acts(o.Store))
		}
	}
	return nil
}
