package sqloutbox_test

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// oddSettings are what a server or a pool can have set for its sessions, several at a time. The
// sql_select_limit is one that Check refuses: it shows that no decision rests on it before.
func oddSettings() map[string]map[string]string {
	return map[string]map[string]string{
		"select limit": {"sql_select_limit": "2", "sql_safe_updates": "1"},
		"lax": {
			"sql_mode": "''", "time_zone": "'+05:45'", "group_concat_max_len": "4",
			"foreign_key_checks": "0", "default_storage_engine": "'MyISAM'",
		},
		"strict": {
			"sql_mode":              "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH,IGNORE_SPACE,TRADITIONAL,ONLY_FULL_GROUP_BY'",
			"auto_increment_offset": "1", "collation_connection": "'latin1_swedish_ci'", "character_set_results": "'latin1'",
		},
	}
}

// TestO2_SettingsOfTheServer: what a server has set for its sessions decides nothing.
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

// TestO9_IdleSessionsAreKept: a server that ends sessions which wait does not end those of a
// relay, whose lease would be lost without a fault.
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
