package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func (s postgresStore) acts(in *injection) []act {
	return slices.Concat(in.clockActs(), in.ownClockActs(), []act{
		{"topics", "missing", in.topicsMissing},
		{"records", "megabytes", in.recordsOfMegabytes},
		{"records", "long-ids", in.idsOfKilobytes},
		{"records", "hostile", in.recordsHostile(roles.KindHostile)},
		{"log", "row-security", in.rowSecurity},
		{"log", "truncated", in.truncated},
		{"log", "sequence-back", in.sequenceBack},
		{"topic", "made-again", in.topicMadeAgain},
		{"settings", "changed", in.settingsChanged(s.changes()...)},
		{"splitter", "late-standby", in.lateStandby},
		{"history", "restored", in.restored},
		{"history", "promoted", in.promoted},
		{"history", "other-cluster", in.otherCluster},
		{"history", "split-brain", in.splitBrain},
	})
}

// changes are settings that administrators change for all new sessions.
func (s postgresStore) changes() []change {
	var all []change
	for _, c := range []struct{ name, value, word string }{
		{"DateStyle", "'German'", "datestyle"},
		{"IntervalStyle", "'sql_standard'", "intervalstyle"},
		{"standard_conforming_strings", "off", "standard_conforming_strings"},
		{"bytea_output", "'escape'", "bytea_output"},
		{"default_transaction_isolation", "'serializable'", "isolation"},
		{"idle_session_timeout", "'300ms'", "idle-session timeout"},
		{"statement_timeout", "'1s'", "statement timeout"},
	} {
		of := "ALTER ROLE " + serviceUser
		if c.name == "IntervalStyle" {
			of = "ALTER DATABASE " + bankDatabase
		}
		all = append(all, change{
			c.name, c.word, s.running(of + " SET " + c.name + " = " + c.value), s.running(of + " RESET " + c.name),
		})
	}
	return all
}

// running returns a function that runs a statement in the bank's database.
func (s postgresStore) running(statement string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := s.bank.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	}
}

func (s postgresStore) setMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	ob, err := pgoutbox.New(s.bank, pgoutbox.Config{})
	if err != nil {
		return err
	}
	return ob.Admin().SetMaxLag(ctx, req)
}

func (s postgresStore) disconnect(ctx context.Context) error {
	return s.running(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '` + serviceUser + `'`)(ctx)
}

func (s postgresStore) newest(ctx context.Context, from string) (id string, err error) {
	err = s.bank.QueryRow(ctx, `
		SELECT id FROM transfers WHERE amount > 0 AND key LIKE 'account-%' AND id >= $1 ORDER BY id DESC LIMIT 1`, from).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

func (s postgresStore) arrived(ctx context.Context, ids []string) (there bool, err error) {
	return there, s.ledger.QueryRow(ctx, `SELECT EXISTS (SELECT FROM effects WHERE id = ANY($1))`, ids).Scan(&there)
}

func (s postgresStore) booked(ctx context.Context, key string) (n int64, err error) {
	return n, s.bank.QueryRow(ctx, `SELECT count(*) FROM transfers WHERE starts_with(key, $1)`, key).Scan(&n)
}

func (s postgresStore) toSend(ctx context.Context) (n int64, err error) {
	return n, s.bank.QueryRow(ctx, pendingSQL).Scan(&n)
}

func (s postgresStore) unsent(ctx context.Context, key string) (n int64, err error) {
	return n, s.bank.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM leat.outbox_pending WHERE starts_with(key, $1))
		     + (SELECT count(*) FROM leat.outbox_held WHERE starts_with(key, $1))`, key).Scan(&n)
}

func (s postgresStore) rebase(ctx context.Context, role string) error {
	pools := map[string]*pgxpool.Pool{roles.Relay: s.bank, roles.Exact: s.ledger}
	ob, err := pgoutbox.New(pools[role], pgoutbox.Config{})
	if err != nil {
		return err
	}
	return ob.Rebase(ctx, pgoutbox.RebaseRequest{Start: driver.Start{Oldest: true}, Actor: "operator", Reason: wentBack})
}
