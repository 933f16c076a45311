package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Errors of CheckPrimary and RefuseReplica.
var (
	// ErrReplica is wrapped if the server is applying another server's changes.
	ErrReplica = errors.New("leat: the server is a replica: what is open on its source locks nothing here")
	// ErrReplicaUnknown is wrapped if this user may not query the state of replication.
	ErrReplicaUnknown = errors.New("leat: whether the server is a replica is not known: GRANT REPLICATION CLIENT ON *.* to this user")
)

// ErrOtherServer is wrapped by the error of a statement that was sent on a session to its server,
// but answered by another server (rule R14).
var ErrOtherServer = errors.New("leat: answered by another server than the session began on: connect leat to the primary itself, past the read/write splitter")

// Answered adds ErrOtherServer to the error of a statement with @{same_server}.
func Answered(err error) error {
	if sqldialect.Number(err) == sqldialect.SeveralRows && !errors.Is(err, ErrOtherServer) {
		return fmt.Errorf("%w (%w)", ErrOtherServer, err)
	}
	return err
}

// primaryStatements are the statements that name no table.
func primaryStatements(d sqldialect.Dialect) (map[string]string, error) {
	return sqlfile.LoadAll(ownFiles, func(sql string) (string, error) { return d.Render("", sql) }, "who", "replica_mysql", "replica_mariadb")
}

// asks is how often one connection asks which server it has reached, outside of a transaction: a
// splitter may send only some of the statements elsewhere.
const asks = 8

// CheckPrimary refuses a connection that reaches several servers, by a *SetupError, and a server
// that applies another server's changes, by ErrReplica: a number that is missing there may belong
// to a transaction that is open on the source. On SQLite it does nothing. If the error wraps
// ErrReplicaUnknown, nothing is refused.
func CheckPrimary(ctx context.Context, db *sql.DB, d sqldialect.Dialect) error {
	if d.OneWriter {
		return nil
	}
	statements, err := primaryStatements(d)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	servers := map[string]bool{}
	ask := func(q Querier) error {
		var name string
		err := q.QueryRowContext(ctx, statements["who"]).Scan(&name)
		servers[name] = true
		return err
	}
	for range asks {
		if err := ask(conn); err != nil {
			return err
		}
	}
	if err := within(ctx, conn, true, ask); err != nil {
		return err
	}
	err = within(ctx, conn, false, func(q Querier) error {
		if err := ask(q); err != nil {
			return err
		}
		return RefuseReplica(ctx, q, d)
	})
	if len(servers) > 1 {
		return &SetupError{
			What: "server", Value: strings.Join(slices.Sorted(maps.Keys(servers)), " and "),
			Rule: "one connection reaches each of them: connect leat to the primary itself, past the read/write splitter",
		}
	}
	return err
}

// within runs look in a transaction of a connection.
func within(ctx context.Context, conn *sql.Conn, readOnly bool, look func(q Querier) error) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return look(tx)
}

// RefuseReplica returns ErrReplica if the server is currently applying another server's changes,
// and an error that wraps ErrReplicaUnknown if the server does not answer the question.
func RefuseReplica(ctx context.Context, q Querier, d sqldialect.Dialect) error {
	if d.OneWriter {
		return nil
	}
	statements, err := primaryStatements(d)
	if err != nil {
		return err
	}
	channels, err := replication(ctx, q, statements["replica_"+string(d.Name)])
	if sqldialect.Number(err) != 0 {
		return fmt.Errorf("%w (%w)", ErrReplicaUnknown, err)
	}
	if err != nil {
		return err
	}
	for _, c := range channels {
		if c.applies() {
			return fmt.Errorf("%w (%s): connect leat to the primary, or stop the replication for good", ErrReplica, c)
		}
	}
	return nil
}

// channel is a row about replication, by the names of its columns in lower case.
type channel map[string]string

// applies reports whether replication runs, or still receives while it waits for an operator after
// an error. A stopped channel belongs to a server that was promoted. The channels of a group do not
// count: the group sets read_only on the servers that must not be written.
func (c channel) applies() bool {
	if applier, ok := c["replica_sql_running"]; ok {
		stopped := strings.EqualFold(applier, "No") && strings.EqualFold(c["replica_io_running"], "No")
		return !stopped && !strings.HasPrefix(c["channel_name"], "group_replication_")
	}
	return c["value"] != "" && c["value"] != "0" // how many run
}

// String implements fmt.Stringer.
func (c channel) String() string {
	if host := c["source_host"]; host != "" {
		return fmt.Sprintf("channel %q from %s:%s", c["channel_name"], host, c["source_port"])
	}
	return fmt.Sprintf("%s = %s", c["variable_name"], c["value"])
}

// replication returns the rows of a statement whose columns depend on the server.
func replication(ctx context.Context, q Querier, statement string) (all []channel, err error) {
	rows, err := q.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		c := make(channel, len(names))
		for i, name := range names {
			c[strings.ToLower(name)] = values[i].String
		}
		all = append(all, c)
	}
	return all, rows.Err()
}
