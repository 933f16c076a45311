package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// oddSettings returns session settings that a server or a pool may have, several at a time. Check refuses
// sql_select_limit; it is here to show that nothing depends on it before that.
func oddSettings() map[string]map[string]string {
	return map[string]map[string]string{
		"select limit": {"sql_select_limit": "1", "sql_safe_updates": "1"},
		"lax": {
			"sql_mode": "''", "time_zone": "'+05:45'", "group_concat_max_len": "4",
			"foreign_key_checks": "0", "default_storage_engine": "'MyISAM'",
		},
		"numbers with gaps": {"auto_increment_increment": "5", "auto_increment_offset": "3"}, // of a cluster with several sources
		"strict": {
			"sql_mode":              "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH,IGNORE_SPACE,TRADITIONAL,ONLY_FULL_GROUP_BY'",
			"auto_increment_offset": "1", "collation_connection": "'latin1_swedish_ci'", "character_set_results": "'latin1'",
		},
	}
}

// TestO2_SettingsOfTheServer: session settings of the server change nothing.
//
//leat:level 2
func TestO2_SettingsOfTheServer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		for name, with := range oddSettings() {
			for _, check := range []string{
				"O4_HeldCopiesAreIdentical", "O6_FollowersWait", "O6_ParkedIsNeverDue", "O6_RedriveKeepsTheOrder", "Admin_FailuresAreGrouped", "Admin_StatsCount", "O5_KeysDoNotDeadlock", "O2_ForeignRowsAreRecords",
				"O2_DelayedSurvivesItsPromoter", "O4_DelayedKeepsEveryField",
			} {
				t.Run(name+"/"+check, func(t *testing.T) {
					t.Parallel()
					c, found := outboxtest.Find(check)
					require.True(t, found)
					own := sqltest.NewMySQLDatabase(t, "mysql://"+config.User+"@"+config.Addr)
					newOutbox(t, sqltest.OpenMySQL(t, own, nil), dialect)
					require.NoError(t, c.Run(t.Context(), features(), newSubject(t, sqltest.OpenMySQL(t, own, with), dialect)))
				})
			}
		}
	})
}

// TestO9_IdleSessionsAreKept: a server that ends idle sessions does not end those of a relay, whose lease
// would be lost without a fault.
//
//leat:level 2
func TestO9_IdleSessionsAreKept(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, map[string]string{"wait_timeout": "1", "interactive_timeout": "1"})
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		control, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { _ = control.Close() }()
		require.EventuallyWithT(t, func(c *assert.CollectT) { // it looks from outside
			require.Error(c, control.PingContext(t.Context()))
		}, 20*time.Second, 3*time.Second)
		require.NoError(t, s.Renew(t.Context(), lease))
		_, err = s.Read(t.Context(), 1)
		require.NoError(t, err)
	})
}

// startPrivate returns functions that start a server for one test.
func startPrivate() map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer {
	return map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	}
}

// TestO14_LocksOfAMemberAreNotBelieved: the other members of a group replication do not see a member's
// named locks. There a lease is not marked, and counts.
//
//leat:level 4
func TestO14_LocksOfAMemberAreNotBelieved(t *testing.T) {
	t.Parallel()
	db := sqltest.OpenMySQL(t, sqltest.NewMySQLDatabase(t, testenv.PrivateMySQL(t, nil).URL), nil)
	ob := newOutbox(t, db, outbox.MySQL)
	for _, member := range []bool{false, true} {
		if member {
			exec(t, db, "INSTALL PLUGIN group_replication SONAME 'group_replication.so'")
		}
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		var owner string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT owner FROM leat_outbox_groups").Scan(&owner))
		require.Equal(t, !member, regexp.MustCompile(`/0[0-9a-f-]{36}$`).MatchString(owner), owner)
		other, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		_, err = other.Acquire(t.Context(), lease)
		held, ok := errors.AsType[*driver.LeaseHeldError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, member, held.Retry == 0, "%s", held.Retry)
		require.NoError(t, s.Release(t.Context()))
	}
}

// TestO2_InitConnect: the statement that a server runs for each session of an ordinary user changes
// nothing.
//
//leat:level 4
func TestO2_InitConnect(t *testing.T) {
	t.Parallel()
	for dialect, start := range startPrivate() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			server := start(t, nil)
			config := sqltest.NewMySQLDatabase(t, server.URL)
			root := sqltest.OpenMySQL(t, config, nil)
			exec(t, root, "CREATE USER plain IDENTIFIED BY ''", "GRANT ALL ON *.* TO plain")
			for _, privilege := range []string{"CONNECTION_ADMIN", "CONNECTION ADMIN", "SUPER"} { // who has one is spared
				_, _ = root.ExecContext(t.Context(), "REVOKE "+privilege+" ON *.* FROM plain")
			}
			for _, statement := range []string{
				"SET autocommit = 0",
				"SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
				"SET NAMES latin1",
			} {
				exec(t, root, "SET GLOBAL init_connect = '"+statement+"'")
				for _, check := range []string{"O2_LateCommitterIsRead", "O6_RedriveKeepsTheOrder", "O2_DelayedSurvivesItsPromoter", "O9_LostLeaseIsFenced"} {
					c, found := outboxtest.Find(check)
					require.True(t, found, check)
					own := sqltest.NewMySQLDatabase(t, server.URL)
					own.User = "plain"
					db := sqltest.OpenMySQL(t, own, nil)
					var commits bool
					require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@autocommit").Scan(&commits))
					require.Equal(t, statement != "SET autocommit = 0", commits, "it is run for this user")
					require.NoError(t, c.Run(t.Context(), features(), newSubject(t, db, dialect)), "%s: %s", statement, check)
				}
			}
		})
	}
}

// TestO2_PacketBelowAMessage: max_allowed_packet was lowered below the size of a message. A relay that
// starts is refused with the name of the setting, and enqueuing such a message fails. Nothing is lost, and
// messages are sent in order afterwards.
//
//leat:level 4
func TestO2_PacketBelowAMessage(t *testing.T) {
	t.Parallel()
	for dialect, start := range startPrivate() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			config := sqltest.NewMySQLDatabase(t, start(t, nil).URL)
			root := sqltest.OpenMySQL(t, config, nil)
			cfg := sqloutbox.Config{MaxPayloadBytes: 4 << 20}
			newOutbox(t, root, dialect)
			ob, err := sqloutbox.New(root, dialect, cfg)
			require.NoError(t, err)
			large := message("k", strings.Repeat("x", 3<<20))
			commit(t, ob, message("k", "a"), large, message("k", "b"))

			var before int64
			require.NoError(t, root.QueryRowContext(t.Context(), "SELECT @@GLOBAL.max_allowed_packet").Scan(&before))
			exec(t, root, "SET GLOBAL max_allowed_packet = 1048576")
			low := sqltest.OpenMySQL(t, config, nil)
			requireUnusable(t, check(t, low, dialect, cfg, sqloutbox.SourceConfig{}), "max_allowed_packet")
			lowOutbox, err := sqloutbox.New(low, dialect, cfg)
			require.NoError(t, err)
			err = lowOutbox.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return lowOutbox.Enqueue(ctx, tx, large)
			})
			require.Error(t, err) // of the setting, unless the server has closed the connection sooner
			err = lowOutbox.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return lowOutbox.Enqueue(ctx, tx, message("k", "c"))
			})
			require.NoError(t, err, "others are enqueued")
			s := acquire(t, lowOutbox, sqloutbox.SourceConfig{})
			require.Equal(t, []string{"a", string(large.Payload), "b", "c"}, drain(t, s), "a relay that runs is not cut off")
			require.NoError(t, s.Release(t.Context()))

			exec(t, root, "SET GLOBAL max_allowed_packet = "+strconv.FormatInt(before, 10))
			high := sqltest.OpenMySQL(t, config, nil)
			highOutbox, err := sqloutbox.New(high, dialect, cfg)
			require.NoError(t, err)
			commit(t, highOutbox, large)
			require.Equal(t, []string{string(large.Payload)}, drain(t, acquire(t, highOutbox, sqloutbox.SourceConfig{})))
		})
	}
}
