package open

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/basis"
)

// log returns the qualified name of the log, for statements.
func (p *Postgres) log() string { return p.table("") }

// table returns the qualified name of a table of the outbox, for statements.
func (p *Postgres) table(suffix string) string {
	return pgx.Identifier{p.target.Schema, p.target.Outbox + suffix}.Sanitize()
}

// positions returns the name of the view of consumers' positions.
func (p *Postgres) positions() string {
	return pgx.Identifier{p.target.Schema, p.target.Inbox + "_positions"}.Sanitize()
}

// prefixes are the prefixes of the names of leat's tables.
func (p *Postgres) prefixes() []string {
	return []string{p.target.Outbox, p.target.Inbox, p.target.Dedupe}
}

func (x examination) sequenceDefinition(ctx context.Context) ([]doctor.Finding, error) {
	var cache int64
	var cycle bool
	var name string
	err := x.Pool.QueryRow(ctx, x.sql["sequence"], x.log()).Scan(&cache, &cycle, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoSequence
	}
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	if cache != 1 {
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: fmt.Sprintf("%s caches %d numbers: the order of keys is lost", name, cache),
			Advice: mendSequence(name, "CACHE 1"),
		})
	}
	if cycle {
		all = append(all, doctor.Finding{Verdict: doctor.Fail, Text: name + " cycles", Advice: mendSequence(name, "NO CYCLE")})
	}
	return all, nil
}

// mendSequence returns the advice to repair a sequence. Stored positions then belong to another sequence,
// so each group must be rebased.
func mendSequence(name, how string) string {
	return "stop the relays, ALTER SEQUENCE " + name + " " + how + ", then leat rebase each group"
}

func (x examination) sequenceValue(ctx context.Context) ([]doctor.Finding, error) {
	var newest, last int64
	var name *string
	var may, subscribed bool
	err := x.Pool.QueryRow(ctx, x.sql["last_value"], x.log()).Scan(&newest, &name, &may, &last, &subscribed)
	switch {
	case err != nil:
		return nil, err
	case name == nil:
		return nil, errNoSequence
	case subscribed: // to set the sequence forward would hide that the rows are not this server's
		return []doctor.Finding{{
			Verdict: doctor.Fail, Text: basis.ErrSubscribed.Says + ": its rows carry numbers and transaction ids of another server",
			Advice: basis.ErrSubscribed.Do + "; leat doctor shows whether the sequence is behind",
		}}, nil
	case !may:
		return []doctor.Finding{{
			Verdict: doctor.Unknown, Text: "permission denied: this role does not see where the sequence is", Advice: "GRANT SELECT ON SEQUENCE " + *name + " to it",
		}}, nil
	}
	var texts, settings []string
	if last < newest {
		texts = append(texts, fmt.Sprintf("the sequence is at %d, behind the log's newest number %d", last, newest))
		settings = append(settings, setForward(*name, newest))
	}
	others, err := x.numbered(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range others {
		// In one statement, which sees no row that is younger than the value of the sequence.
		var highest, last int64
		statement := "SELECT coalesce(max(" + n.column + "), 0), coalesce(pg_sequence_last_value($1::text::regclass), 0) FROM " + n.table
		if err := x.Pool.QueryRow(ctx, statement, n.sequence).Scan(&highest, &last); err != nil {
			return nil, err
		}
		if last < highest {
			texts = append(texts, fmt.Sprintf("%s is at %d, behind number %d in %s", n.sequence, last, highest, n.table))
			settings = append(settings, setForward(n.sequence, highest))
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return []doctor.Finding{{Verdict: doctor.Fail, Text: strings.Join(texts, "; "), Advice: "SELECT " + strings.Join(settings, ", ")}}, nil
}

// setForward returns the SQL that sets a sequence to at least a number.
func setForward(sequence string, to int64) string {
	return fmt.Sprintf("setval('%s', greatest(%d, (SELECT last_value FROM %s)))", strings.ReplaceAll(sequence, "'", "''"), to, sequence)
}

// numbered is a column that is filled from a sequence.
type numbered struct {
	table, column, sequence string
}

// numbered returns such columns of tables other than the log.
func (x examination) numbered(ctx context.Context) ([]numbered, error) {
	rows, err := x.Pool.Query(ctx, x.sql["sequences"], x.target.Schema, x.prefixes())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (n numbered, err error) {
		return n, row.Scan(&n.table, &n.column, &n.sequence)
	})
}

// openTransactions is unknown for a role that cannot see the transactions of others, even if it sees its
// own.
func (x examination) openTransactions(ctx context.Context) ([]doctor.Finding, error) {
	sees := false
	all, err := findings(ctx, x.Postgres, x.sql["transactions"], []any{x.Long}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var pid *int
		var user, application string
		var age *time.Duration
		err := row.Scan(&sees, &pid, &user, &application, &age)
		if err != nil || pid == nil {
			return doctor.Finding{}, err
		}
		return doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("process %d of %s (%s) has had a transaction open for %s", *pid, user, application, age.Round(time.Second)),
			Advice: "it keeps vacuum from cleaning up: end it, or SELECT pg_terminate_backend(" + fmt.Sprint(*pid) + ")", //nolint:perfsprint // reads as the statement
		}, nil
	})
	if err != nil {
		return nil, err
	}
	if all[0].Text == "" {
		all = nil
	}
	if !sees {
		all = append(all, doctor.Finding{
			Verdict: doctor.Unknown, Text: "this role does not see transactions of others", Advice: "GRANT pg_monitor to it",
		})
	}
	return all, nil
}

func (x examination) preparedTransactions(ctx context.Context) ([]doctor.Finding, error) {
	return findings(ctx, x.Postgres, x.sql["prepared"], []any{x.Long}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var gid, owner, database string
		var age time.Duration
		err := row.Scan(&gid, &owner, &database, &age)
		return doctor.Finding{
			Verdict: doctor.Fail, Text: fmt.Sprintf("prepared transaction %q of %s in database %s is open for %s", gid, owner, database, age.Round(time.Second)),
			Advice: "it outlives every restart: COMMIT PREPARED or ROLLBACK PREPARED, in its database",
		}, err
	})
}

// oldRows is how many transactions a slot with an active reader may lag. Readers confirm every few seconds.
const oldRows = 1_000_000

func (x examination) slotsOfReplication(ctx context.Context) ([]doctor.Finding, error) {
	return findings(ctx, x.Postgres, x.sql["replication_slots"], []any{oldRows}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var name, status string
		var active, unbounded bool
		var retained, age int64
		err := row.Scan(&name, &active, &status, &unbounded, &retained, &age)
		f := doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("replication slot %q: active %t, wal_status %q, keeps %d MiB of the server's log", name, active, status, retained>>20),
			Advice: "if nobody comes back for it: pg_drop_replication_slot",
		}
		if active {
			f.Advice = "look at its reader, which confirms too little; while it lags, vacuum removes nothing that is newer"
		}
		if age > 0 {
			f.Text += fmt.Sprintf(" and the rows of the last %d transactions", age)
		}
		if unbounded {
			f.Text += ", and nothing bounds what it keeps (max_slot_wal_keep_size)"
		}
		if status == "unreserved" || status == "lost" {
			f.Verdict = doctor.Fail
		}
		return f, err
	})
}
