package sqlinbox

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// checkServer looks at the settings of MySQL or MariaDB, those of the session among them:
// the sessions of a pool are alike.
func (t *tables) checkServer(ctx context.Context) (facts, error) {
	is := map[string]string{} // what a server does not know is left out
	err := each(ctx, t.db, func(scan func(...any) error) error {
		var name, value string
		err := scan(&name, &value)
		is[name] = strings.ToUpper(value)
		return err
	}, `SHOW VARIABLES WHERE Variable_name IN ('version', 'autocommit', 'read_only', 'innodb_read_only',
		'transaction_isolation', 'tx_isolation', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format')`)
	if err != nil {
		return facts{}, t.describe(err)
	}
	if err := t.checkVersion(is["version"]); err != nil {
		return facts{}, err
	}
	binlog := is["log_bin"] == "ON"
	for _, refusal := range []struct {
		refused bool
		why     string
	}{
		{is["autocommit"] == "OFF", "autocommit is off in its sessions"},
		{is["read_only"] == "ON" || is["innodb_read_only"] == "ON", "it is read-only"},
		{
			is["transaction_isolation"] == "READ-UNCOMMITTED" || is["tx_isolation"] == "READ-UNCOMMITTED",
			"its sessions see what is not committed: raise transaction_isolation",
		},
		{binlog && is["binlog_format"] == "STATEMENT", "binlog_format is STATEMENT, which cannot replicate claims: take ROW"},
	} {
		if refusal.refused {
			return facts{}, fmt.Errorf("%w: %s", ErrUnsupported, refusal.why)
		}
	}
	if flush := is["innodb_flush_log_at_trx_commit"]; flush != "1" {
		return facts{}, fmt.Errorf("%w: innodb_flush_log_at_trx_commit is %s, and must be 1", ErrNotDurable, flush)
	}
	return facts{fence: !binlog || is["sync_binlog"] != "1"}, nil
}

var versionNumbers = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)`)

// checkVersion refuses servers that cannot pass over locked rows, and those of a family
// that was not asked for.
func (t *tables) checkVersion(version string) error {
	isMariaDB := strings.Contains(version, "MARIADB")
	found := versionNumbers.FindStringSubmatch(strings.TrimPrefix(version, "5.5.5-"))
	oldest := []int{8, 0, 1}
	if isMariaDB {
		oldest = []int{10, 6, 0}
	}
	switch {
	case strings.Contains(version, "TIDB"), found == nil:
		return fmt.Errorf("%w: %q is neither MySQL nor MariaDB", ErrUnsupported, version)
	case isMariaDB != (t.dialect.Name == MariaDB):
		return fmt.Errorf("%w: it is %q, and the dialect is %s", ErrUnsupported, version, t.dialect.Name)
	}
	for i, least := range oldest {
		n, err := strconv.Atoi(found[i+1])
		switch {
		case err != nil || n < least:
			return fmt.Errorf("%w: %q: %w", ErrUnsupported, version, errTooOld)
		case n > least:
			return nil
		}
	}
	return nil
}
