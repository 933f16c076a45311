package sqlstore

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/sqldialect"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServersAreRefusedByTheirSettings: one setting at a time is spoilt. Servers that are
// newer than those of the other tests know more values than these do.
func TestServersAreRefusedByTheirSettings(t *testing.T) {
	t.Parallel()
	good := variables{
		"version": "12.1.2-MARIADB", "autocommit": "ON", "read_only": "OFF", "innodb_read_only": "OFF",
		"transaction_isolation": "REPEATABLE-READ", "auto_increment_increment": "1", "max_allowed_packet": "1000",
		"innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "1", "binlog_format": "MIXED", "wsrep_on": "OFF",
	}
	needs := Needs{Numbers: true, OwnSessions: true, Packet: 1000}
	require.NoError(t, good.check(sqldialect.MariaDB, needs))
	for _, c := range []struct {
		name, value string
		durability  bool
	}{
		{"version", "10.5.9-MARIADB", false},
		{"version", "8.0.35", false}, // of the other family
		{"version", "8.0.11-TIDB-V7.5.0", false},
		{"version", "", false},
		{"autocommit", "OFF", false},
		{"unique_checks", "OFF", false},
		{"read_only", "ON", false},
		{"read_only", "NO_LOCK", false},
		{"read_only", "NO_LOCK_NO_ADMIN", false},
		{"innodb_read_only", "ON", false},
		{"transaction_isolation", "READ-UNCOMMITTED", false},
		{"auto_increment_increment", "2", false},
		{"max_allowed_packet", "999", false},
		{"innodb_flush_log_at_trx_commit", "2", true},
		{"binlog_format", "STATEMENT", false},
		{"wsrep_on", "ON", false},
		{"group_replication_single_primary_mode", "OFF", false},
		{"autocommit", "0", false},
		{"read_only", "1", false},
		{"unique_checks", "0", false},
	} {
		spoilt := maps.Clone(good)
		spoilt[c.name] = c.value
		err := spoilt.check(sqldialect.MariaDB, needs)
		setup, ok := errors.AsType[*SetupError](err)
		require.True(t, ok, "%s = %s: %v", c.name, c.value, err)
		require.Equal(t, c.durability, setup.Durability, c.name)
	}
	vitess := maps.Clone(good) // shows switches as numbers
	for name, value := range map[string]string{"ON": "1", "OFF": "0"} {
		maps.Copy(vitess, renamed(good, name, value))
	}
	require.NoError(t, vitess.check(sqldialect.MariaDB, needs))
	require.False(t, vitess.fence())
	one := maps.Clone(good)
	one["group_replication_single_primary_mode"] = "ON"
	require.NoError(t, one.check(sqldialect.MariaDB, needs))
	lax := maps.Clone(good)
	lax["autocommit"], lax["auto_increment_increment"], lax["innodb_flush_log_at_trx_commit"] = "OFF", "2", "0"
	require.NoError(t, lax.check(sqldialect.MariaDB, Needs{AsyncCommit: true}))
	for version, dialect := range map[string]sqldialect.Name{
		"5.5.5-10.6.1-MARIADB": sqldialect.MariaDB, "8.0.1": sqldialect.MySQL, "9.7.4": sqldialect.MySQL, "8.1.0": sqldialect.MySQL,
	} {
		require.NoError(t, variables{"version": version}.checkVersion(dialect), version)
	}
	require.Error(t, variables{"version": "8.0.0"}.checkVersion(sqldialect.MySQL))
}

// renamed returns the settings that have a value, with another one.
func renamed(v variables, from, to string) variables {
	all := variables{}
	for name, value := range v {
		if value == from {
			all[name] = to
		}
	}
	return all
}

// TestReplicationsThatApply: what servers say of replication, and whether numbers that are
// missing may be of transactions on another server.
func TestReplicationsThatApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		io, sql, channel string
		applies          bool
	}{
		{"Yes", "Yes", "", true},
		{"Connecting", "Yes", "", true},
		{"No", "Yes", "east", true},
		{"Yes", "No", "", true}, // it waits for an operator after an error
		{"No", "No", "", false}, // it was promoted
		{"Yes", "Yes", "group_replication_recovery", false},
	} {
		status := channel{"replica_io_running": c.io, "replica_sql_running": c.sql, "channel_name": c.channel}
		require.Equal(t, c.applies, status.applies(), "%+v", c)
	}
	require.True(t, channel{"variable_name": "Slaves_running", "value": "1"}.applies())
	require.False(t, channel{"variable_name": "Slaves_running", "value": "0"}.applies())
}
