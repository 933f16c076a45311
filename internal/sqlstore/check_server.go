package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
)

// checkServer checks the settings of MySQL or MariaDB, including those of one session. Other
// sessions of the pool may have other settings: no statement may depend on them. The check finds a
// pool whose sessions are all set wrong.
func (s *Store) checkServer(ctx context.Context, n Needs) (Facts, error) {
	v := variables{}
	err := s.use(ctx, func(conn *sql.Conn) error {
		if err := s.returnsAll(ctx, conn); err != nil {
			return err
		}
		for _, statement := range []string{"facts", "cluster"} {
			if err := v.read(ctx, conn, s.SQL[statement]); err != nil {
				return err
			}
		}
		return v.check(s.Dialect.Name, n)
	})
	return Facts{Fence: v.fence()}, err
}

// returnsAll refuses a session that limits the rows of a statement without a LIMIT: the list of the
// variables would be the first to be cut.
func (s *Store) returnsAll(ctx context.Context, conn *sql.Conn) error {
	var most uint64
	if err := conn.QueryRowContext(ctx, s.SQL["select_limit"]).Scan(&most); err != nil {
		return err
	}
	if most > 0 && most < math.MaxInt64 { // Vitess shows 0 for none: a real 0 would not return this row
		return &SetupError{What: "sql_select_limit", Value: most, Rule: "must not be set: results would lack rows", OfSession: true}
	}
	return nil
}

// variables are the settings of a server, by their names, in capitals.
type variables map[string]string

// read adds the variables that a statement lists.
func (v variables) read(ctx context.Context, q Querier, statement string) error {
	return Each(ctx, q, func(scan Scanner) error {
		var name, value string
		err := scan(&name, &value)
		v[name] = strings.ToUpper(value)
		return err
	}, statement)
}

// on reports whether a switch is on. Vitess shows it as a number.
func (v variables) on(name string) bool { return v[name] == "ON" || v[name] == "1" }

// off reports whether a switch exists and is off.
func (v variables) off(name string) bool { return v[name] == "OFF" || v[name] == "0" }

func (v variables) check(dialect sqldialect.Name, n Needs) error {
	if err := v.checkVersion(dialect); err != nil {
		return err
	}
	packet, _ := strconv.ParseInt(v["max_allowed_packet"], 10, 64)
	if packet < n.Packet {
		return &SetupError{What: "max_allowed_packet", Value: packet, Rule: fmt.Sprintf("must be at least %d", n.Packet)}
	}
	for _, r := range []struct {
		name, rule            string
		refused               bool
		durability, ofSession bool
	}{
		{"autocommit", "must be on: autocommit is off in the sessions of the pool", n.OwnSessions && !v.on("autocommit"), false, true},
		{"transaction_isolation", seesUncommitted, n.OwnSessions && v["transaction_isolation"] == readUncommitted, false, true},
		{"tx_isolation", seesUncommitted, n.OwnSessions && v["tx_isolation"] == readUncommitted, false, true},
		{"auto_increment_increment", "must be 1: most numbers would be missing", n.Numbers && v["auto_increment_increment"] != "1", false, true},
		{"unique_checks", "must be ON: MariaDB locks an empty table for who inserts the first row", v.off("unique_checks"), false, true},
		{"read_only", notReadOnly, !v.off("read_only"), false, true},
		{"innodb_read_only", notReadOnly, v.on("innodb_read_only"), false, true},
		{"wsrep_on", NotGalera, v.on("wsrep_on"), false, true},
		{"group_replication_single_primary_mode", OnePrimary, v.off("group_replication_single_primary_mode"), false, true},
		{"binlog_format", "must be ROW or MIXED: InnoDB refuses what is written at READ COMMITTED", v.on("log_bin") && v["binlog_format"] == "STATEMENT", false, true},
		{"innodb_flush_log_at_trx_commit", "must be 1: commits would be answered before they are durable", v["innodb_flush_log_at_trx_commit"] != "1" && !n.AsyncCommit, true, false},
	} {
		if r.refused {
			return &SetupError{What: r.name, Value: v[r.name], Rule: r.rule, Durability: r.durability, OfSession: r.ofSession}
		}
	}
	return nil
}

const (
	readUncommitted = "READ-UNCOMMITTED"
	seesUncommitted = "must be higher: its sessions see what is not committed"
	notReadOnly     = "must be OFF: the server must be one that can be written"
)

// The reasons for refusing members of a cluster.
const (
	NotGalera  = "must be OFF: the nodes of a Galera cluster do not see each other's row locks, on which order and claims rest"
	OnePrimary = "must be ON: the primaries of a group replication do not see each other's row locks, on which order and claims rest"
)

// fence reports whether a commit can be seen before it is durable. With the binary log synced at each commit it cannot.
func (v variables) fence() bool { return !v.on("log_bin") || v["sync_binlog"] != "1" }

// checkVersion refuses servers that cannot skip locked rows, and servers of the other family.
func (v variables) checkVersion(dialect sqldialect.Name) error {
	version := v["version"]
	is, oldest := sqldialect.MySQL, [3]int{8, 0, 1}
	if strings.Contains(version, "MARIADB") {
		is, oldest = sqldialect.MariaDB, [3]int{10, 6, 0}
	}
	var found [3]int
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "5.5.5-"), "%d.%d.%d", &found[0], &found[1], &found[2])
	switch {
	case n < len(found) || strings.Contains(version, "TIDB"):
		return &SetupError{What: "version", Value: version, Rule: "must be MySQL's or MariaDB's: TiDB gives out numbers in blocks, and does not lock as they do"}
	case is != dialect:
		return &SetupError{What: "dialect", Value: dialect, Rule: "the server is " + version}
	}
	for i, least := range oldest {
		if found[i] < least {
			return &SetupError{What: "version", Value: version, Rule: "must be MySQL 8.0.1 or MariaDB 10.6, or later, which know SKIP LOCKED"}
		}
		if found[i] > least {
			break
		}
	}
	return nil
}
