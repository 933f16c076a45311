package open

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/ids"
)

// serverFacts are the properties that no setting changes.
type serverFacts struct {
	number   int // as 150004
	version  string
	says     string // what version() returns, as it is
	standby  bool
	encoding string
}

func (x examination) facts(ctx context.Context) (f serverFacts, err error) {
	err = x.Pool.QueryRow(ctx, x.sql["server_facts"]).Scan(&f.number, &f.version, &f.says, &f.standby, &f.encoding)
	return f, err
}

func (x examination) version(ctx context.Context) ([]doctor.Finding, error) {
	f, err := x.facts(ctx)
	if err != nil {
		return nil, err
	}
	if doctor.Supported(f.number) {
		return []doctor.Finding{{Verdict: doctor.OK, Text: f.says}}, nil
	}
	return []doctor.Finding{{Verdict: doctor.Fail, Text: "PostgreSQL " + f.version + " is older than 14", Advice: "upgrade it"}}, nil
}

func (x examination) standby(ctx context.Context) ([]doctor.Finding, error) {
	f, err := x.facts(ctx)
	if err != nil {
		return nil, err
	}
	if !f.standby {
		return x.splitter(ctx)
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "the server is a standby: nothing can be enqueued, and relays refuse it",
		Advice: "name the primary, or several hosts with target_session_attrs=read-write",
	}}, nil
}

// sessions is how many sessions splitter opens: a splitter may choose a server for each session.
const sessions = 10

// splitter looks for a read/write splitter, which sends read-only queries to a standby.
func (x examination) splitter(ctx context.Context) ([]doctor.Finding, error) {
	away := 0
	for range sessions {
		c, err := x.Pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		conn := c.Hijack() // so that Acquire does not return it again
		var standby bool
		err = conn.QueryRow(ctx, x.sql["in_hot_standby"], pgx.QueryExecModeSimpleProtocol).Scan(&standby)
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			return nil, err
		}
		if standby {
			away++
		}
	}
	if away == 0 {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn,
		Text:    fmt.Sprintf("a read/write splitter stands before the database: in %d sessions of %d, a standby answers what only reads", away, sessions),
		Advice:  "connect relays, inboxes and maintenance to the primary itself, past the splitter",
	}}, nil
}

func (x examination) encoding(ctx context.Context) ([]doctor.Finding, error) {
	f, err := x.facts(ctx)
	if err != nil || f.encoding == "UTF8" {
		return nil, err
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "the database is in " + f.encoding + ": texts of messages are refused, or come out as others",
		Advice: "make a database with ENCODING 'UTF8', and move there",
	}}, nil
}

// shape looks for leftovers of an interrupted change, for tables that logical replication would leave out,
// and for objects that still use the old name of a renamed schema.
func (x examination) shape(ctx context.Context) ([]doctor.Finding, error) {
	warn := func(row pgx.CollectableRow) (doctor.Finding, error) {
		f := doctor.Finding{Verdict: doctor.Warn}
		return f, row.Scan(&f.Text, &f.Advice)
	}
	all, err := findings(ctx, x.Postgres, x.sql["shape"], []any{x.target.Schema, x.prefixes()}, warn)
	if err != nil {
		return nil, err
	}
	copied, err := findings(ctx, x.Postgres, x.sql["replication"], []any{x.target.Schema, x.prefixes(), x.log()}, warn)
	if err != nil {
		return nil, err
	}
	renamed, err := findings(ctx, x.Postgres, x.sql["renamed"], []any{x.target.Schema, x.prefixes()}, warn)
	return slices.Concat(all, copied, renamed), err
}

// notificationWait is how long a notification may take.
const notificationWait = 2 * time.Second

// pooler sends a notification from one connection to another, as a relay does at its start.
func (x examination) pooler(ctx context.Context) ([]doctor.Finding, error) {
	hears, err := x.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	// Its settings must not return to the pool.
	conn := hears.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	direct, err := isDirect(ctx, conn)
	if err != nil {
		return nil, err
	}
	arrives, err := x.notified(ctx, conn)
	if err != nil || arrives {
		return nil, err
	}
	if direct {
		return []doctor.Finding{{
			Verdict: doctor.Unknown, Text: fmt.Sprintf("a notification did not arrive within %s", notificationWait), Advice: "look again when the server is less busy",
		}}, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: "a pooler in transaction mode stands before the database: notifications do not arrive, so relays find commits of other processes by polling, and read slower",
		Advice: "connect relays and maintenance directly, or in session mode",
	}}, nil
}

// isDirect reports whether the answering process has the id that the connection was given: poolers invent
// ids.
func isDirect(ctx context.Context, conn *pgx.Conn) (bool, error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_catalog.pg_backend_pid()").ReadAll() // in any encoding
	if err != nil {
		return false, err
	}
	return string(results[0].Rows[0][0]) == strconv.FormatUint(uint64(conn.PgConn().PID()), 10), nil
}

// notified reports whether conn receives a notification from another connection.
func (x examination) notified(ctx context.Context, conn *pgx.Conn) (bool, error) {
	id, err := ids.New()
	if err != nil {
		return false, err
	}
	channel := "leat/doctor/" + id
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	if _, err := x.Pool.Exec(ctx, "SELECT pg_notify($1, '')", pgx.QueryExecModeSimpleProtocol, channel); err != nil {
		return false, err
	}
	wait, cancel := context.WithTimeout(ctx, notificationWait)
	defer cancel()
	_, err = conn.WaitForNotification(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
