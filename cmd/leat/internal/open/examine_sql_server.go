package open

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
)

// variables are settings of a server by their names, in capitals. It lacks those that the server does not
// know.
type variables map[string]string

// variables judges settings of the server, which any user may read.
func (x sqlExamination) variables(judge func(v variables) []doctor.Finding) func(ctx context.Context) ([]doctor.Finding, error) {
	return func(ctx context.Context) ([]doctor.Finding, error) {
		v, err := x.read(ctx, "variables")
		if err != nil {
			return nil, err
		}
		return judge(v), nil
	}
}

// read runs a statement whose rows are names and values.
func (x sqlExamination) read(ctx context.Context, statement string) (variables, error) {
	text, err := statements.ReadFile("sql/mysql_" + statement + ".sql")
	if err != nil {
		return nil, err
	}
	rows, err := x.db.QueryContext(ctx, string(text))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	v := variables{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		v[strings.ToLower(name)] = strings.ToUpper(value)
	}
	return v, rows.Err()
}

// number returns a value as a number, 0 if it is not one.
func (v variables) number(name string) int64 {
	n, _ := strconv.ParseInt(v[name], 10, 64)
	return n
}

// numbers checks the settings that generate numbers. On a cluster of several writers it does not advise to
// change what the cluster has set for each member: members would then generate the same numbers.
func numbers(v variables) []doctor.Finding {
	if v["auto_increment_increment"] == "1" {
		return nil
	}
	advice := "SET GLOBAL auto_increment_increment = 1, and in the server's configuration; let one server be written"
	if len(cluster(v)) > 0 {
		advice = "the cluster has set it so that its members give out different numbers: leave it, and see server.cluster"
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "auto_increment_increment is " + v["auto_increment_increment"] + ": most numbers of the log would be missing, and relays refuse it",
		Advice: advice,
	}}
}

func readOnly(v variables) (all []doctor.Finding) {
	for _, name := range []string{"read_only", "innodb_read_only"} {
		if value := v[name]; value != "" && value != "OFF" {
			all = append(all, doctor.Finding{
				Verdict: doctor.Fail, Text: name + " is " + value + ": nothing can be enqueued, and relays refuse it", Advice: "name the primary",
			})
		}
	}
	return all
}

func durability(v variables) (all []doctor.Finding) {
	const fix = "it is 1 by default: set it so"
	if value := v["innodb_flush_log_at_trx_commit"]; value != "1" {
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: "innodb_flush_log_at_trx_commit is " + value + ": a crash takes back what was committed, and relays and inboxes refuse it", Advice: fix,
		})
	}
	if v["innodb_doublewrite"] == "OFF" {
		all = append(all, doctor.Finding{
			Verdict: doctor.Warn, Text: "innodb_doublewrite is OFF: a crash can break pages", Advice: "switch it on, unless the file system writes a page as a whole or not at all",
		})
	}
	if value := v["sync_binlog"]; v["log_bin"] == "ON" && value != "1" {
		all = append(all, doctor.Finding{
			Verdict: doctor.Warn, Text: "sync_binlog is " + value + ": after a crash, replicas and this server can differ; a relay commits a write of its own before each page", Advice: fix,
		})
	}
	return all
}

func binlog(v variables) []doctor.Finding {
	if v["log_bin"] != "ON" || v["binlog_format"] != "STATEMENT" {
		return nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "binlog_format is STATEMENT: InnoDB refuses what relays write at READ COMMITTED", Advice: "SET GLOBAL binlog_format = 'ROW', and in the server's configuration",
	}}
}

// cluster finds clusters of several writable servers, which relays and inboxes reject.
func cluster(v variables) (all []doctor.Finding) {
	if value := v["wsrep_on"]; value == "ON" || value == "1" {
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: "wsrep_on is " + value + ", " + sqlstore.NotGalera,
			Advice: "keep the outbox and the inbox, with the tables that their transactions write, on a server of its own",
		})
	}
	if value := v["group_replication_single_primary_mode"]; value == "OFF" || value == "0" {
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: "group_replication_single_primary_mode is " + value + ", " + sqlstore.OnePrimary,
			Advice: "SELECT group_replication_switch_to_single_primary_mode(), and name the primary",
		})
	}
	return all
}

// cluster checks the variables, and a mode that only Vitess has and that its gateway does not list.
func (x sqlExamination) cluster(ctx context.Context) ([]doctor.Finding, error) {
	all, err := x.variables(cluster)(ctx)
	if err != nil {
		return nil, err
	}
	var mode string
	err = x.db.QueryRowContext(ctx, "SELECT @@transaction_mode").Scan(&mode)
	if sqldialect.Number(err) != 0 { // there is none
		return all, nil
	}
	if strings.EqualFold(mode, "MULTI") {
		all = append(all, doctor.Finding{
			Verdict: doctor.Warn, Text: "transaction_mode is MULTI: a COMMIT goes from shard to shard, and what it has done on the first ones stays if it fails then",
			Advice: "keep the outbox in the shard of the rows that its transactions write, and name it in the URL, keyspace:shard; or SET transaction_mode = 'SINGLE'",
		})
	}
	return all, err
}

// version shows the version that the server reports. The check store.setup tries whether that is true.
func (x sqlExamination) version(ctx context.Context) ([]doctor.Finding, error) {
	var version, comment string
	err := x.db.QueryRowContext(ctx, "SELECT version(), @@version_comment").Scan(&version, &comment)
	return []doctor.Finding{{Verdict: doctor.OK, Text: version + " " + comment}}, err
}

// replica is unknown on MySQL to a user without the privilege REPLICATION CLIENT.
func (x sqlExamination) replica(ctx context.Context) ([]doctor.Finding, error) {
	err := sqlstore.RefuseReplica(ctx, x.db, x.dialect)
	switch {
	case errors.Is(err, sqlstore.ErrReplicaUnknown):
		return []doctor.Finding{{
			Verdict: doctor.Unknown, Text: err.Error(), Advice: "GRANT REPLICATION CLIENT ON *.* to this user, and to that of the relays",
		}}, nil
	case errors.Is(err, sqlstore.ErrReplica):
		return []doctor.Finding{{
			Verdict: doctor.Fail, Text: err.Error(), Advice: "name the primary, and set read_only on the replica",
		}}, nil
	default:
		return nil, err
	}
}

func (x sqlExamination) connectionsLeft(ctx context.Context) ([]doctor.Finding, error) {
	if x.SlotsUnknown != nil {
		return nil, x.SlotsUnknown
	}
	v, err := x.read(ctx, "variables")
	if err != nil {
		return nil, err
	}
	status, err := x.read(ctx, "connected")
	if err != nil {
		return nil, err
	}
	left, need := v.number("max_connections")-status.number("threads_connected"), int64(2*x.Slots+2)
	if left >= need {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: fmt.Sprintf("%d connections are left, relays of %d groups take %d", left, x.Slots, need),
		Advice: "raise max_connections, or make pools smaller",
	}}, nil
}

// transactions is unknown to a user without the privilege PROCESS: the server refuses it.
func (x sqlExamination) transactions(ctx context.Context) ([]doctor.Finding, error) {
	text, err := statements.ReadFile("sql/mysql_transactions.sql")
	if err != nil {
		return nil, err
	}
	return x.each(ctx, "open transactions", "PROCESS", func(scan func(...any) error) (doctor.Finding, error) {
		var id, age int64
		var user string
		err := scan(&id, &user, &age)
		return doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("connection %d of %s has had a transaction open for %s", id, user, time.Duration(age)*time.Second),
			Advice: fmt.Sprintf("it keeps its keys locked, and purge from cleaning up: end it, or KILL %d", id),
		}, err
	}, string(text), int64(x.Long/time.Second))
}

// prepared looks for transactions left behind by XA PREPARE, which outlive their connection.
func (x sqlExamination) prepared(ctx context.Context) ([]doctor.Finding, error) {
	return x.each(ctx, "prepared transactions", "XA_RECOVER_ADMIN", func(scan func(...any) error) (doctor.Finding, error) {
		var format, global, branch int64
		var id string
		err := scan(&format, &global, &branch, &id)
		return doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("a transaction is prepared: %q", id),
			Advice: "if its coordinator is gone, XA COMMIT or XA ROLLBACK it: it keeps its keys locked through every restart",
		}, err
	}, "XA RECOVER")
}

// lacking are the errors of a server that does not have a statement or a table: a parse error, an unknown
// table, and Vitess's own errors.
var lacking = []int{1064, 1105, 1109, 1146, 1149, 1235} //nolint:gochecknoglobals // never changed

// each returns a finding for each row of the list of what. A query that the server rejects is unknown, and
// the finding names the privilege that may be missing.
func (x sqlExamination) each(
	ctx context.Context, what, privilege string, finding func(scan func(...any) error) (doctor.Finding, error), statement string, args ...any,
) (all []doctor.Finding, err error) {
	rows, err := x.db.QueryContext(ctx, statement, args...)
	if err == nil {
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			f, err := finding(rows.Scan)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		err = rows.Err()
	}
	switch {
	case slices.Contains(lacking, sqldialect.Number(err)):
		all = []doctor.Finding{{
			Verdict: doctor.Unknown, Text: "this server does not list " + what + ": " + err.Error(), Advice: "if it is a proxy, such as Vitess's, ask the servers behind it",
		}}
	case err != nil:
		all = []doctor.Finding{{Verdict: doctor.Unknown, Text: err.Error(), Advice: "if a privilege is missing: GRANT " + privilege + " ON *.* to this user"}}
	}
	return all, nil
}
