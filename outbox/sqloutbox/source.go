package sqloutbox

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// defaultGroup is the default relay group.
const defaultGroup = "default"

// SourceConfig tunes Outbox.Source.
type SourceConfig struct {
	// Group names an independent reader of the outbox, with its own lease and position.
	// Valid UTF-8 without NUL, at most 200 bytes, not beginning with "_".
	// Defaults to "default".
	Group string

	// Start is where the group begins if it has never read before; otherwise it is ignored.
	// Defaults to Oldest for the group "default"; for any other new group it must be stated.
	Start driver.Start

	// Topics are patterns of the topics that the group reads, in which * stands for any run of
	// characters; at most 1,000. Rows of other topics are read and skipped. A group whose
	// patterns change uses the new ones from its current position. A relay refuses to lead if
	// waiting messages would then never be sent (admin.Manager.SetTopics). While another relay
	// leads, its patterns apply. See docs/changing.md. Defaults to all topics.
	Topics []string
}

func (c SourceConfig) withDefaults() SourceConfig {
	c.Group = cmp.Or(c.Group, defaultGroup)
	if !c.Start.IsStated() && c.Group == defaultGroup {
		c.Start = driver.Start{Oldest: true}
	}
	c.Topics = slices.Clone(c.Topics)
	return c
}

func (c SourceConfig) validate() error {
	if err := validateGroup(c.Group); err != nil {
		return err
	}
	if err := c.Start.Check(); err != nil {
		return err
	}
	return validateTexts("Topics", c.Topics)
}

func validateGroup(group string) error {
	if len(group) > 200 || !utf8.ValidString(group) || strings.ContainsRune(group, 0) {
		return outbox.ConfigError("Group", strconv.Quote(group), "must be valid UTF-8 without NUL, of at most 200 bytes")
	}
	if strings.HasPrefix(group, "_") {
		return outbox.ConfigError("Group", strconv.Quote(group), "must not begin with _")
	}
	return nil
}

// maxTexts bounds lists of patterns: every record is compared with each.
const maxTexts = 1000

func validateTexts(field string, texts []string) error {
	if len(texts) > maxTexts {
		return outbox.ConfigError(field, strconv.Itoa(len(texts))+" texts", "must be at most "+strconv.Itoa(maxTexts))
	}
	for i, text := range texts {
		if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return outbox.ConfigError(field+"["+strconv.Itoa(i)+"]", strconv.Quote(text), "must be valid UTF-8 without NUL, and not empty")
		}
	}
	return nil
}

// source reads the outbox for relays of one group. See Outbox.Source.
type source struct {
	ob  *Outbox
	cfg SourceConfig
}

var (
	_ driver.Source = (*source)(nil)
	_ driver.Placed = (*source)(nil)
)

// LogValue implements slog.LogValuer: the outbox and the group, as relays log them.
func (s *source) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", s.ob.cfg.Table), slog.String("group", s.cfg.Group))
}

// Source returns the outbox as a source for relay.New. Replicas of one relay use the same
// group, in one process or many: one of them leads. It connects to nothing.
//
// While it leads, a relay holds two connections of the pool, which are closed when it stops,
// since their settings were changed, and on SQLite one more to notice what other processes
// commit. So the pool must allow at least four (sql.DB.SetMaxOpenConns).
//
// It needs SELECT on all tables of the outbox, INSERT, UPDATE and DELETE on those of groups and
// held records, INSERT and UPDATE on the log, INSERT on the audit. It never updates the log:
// MySQL requires that right to lock unused numbers.
//
// Its Check refuses a missing or too old schema, a database that does not match the dialect, one
// that commits before it is durable (Config.AllowAsyncCommit) or that is read-only, a pool of
// fewer than four connections, a log that was truncated or replaced (Outbox.Rebase), a position
// ahead of the log, and a new group without a stated start. On MySQL and MariaDB it also refuses
// a connection that reaches several servers (a read/write splitter), a server that applies what
// another one has written, a member of a cluster with several writers, one that returns a row
// that another transaction has locked, tables that are not in InnoDB, auto_increment_increment
// other than 1, a binary log of statements, lock rows that are missing, and a max_allowed_packet
// too small for Config.MaxPayloadBytes; on SQLite a database in memory and transactions that do
// not lock as they begin.
//
// On MySQL, a user without the privilege REPLICATION CLIENT cannot find out whether the server is
// a replica. That is logged once, and is not an error.
func (o *Outbox) Source(cfg SourceConfig) (driver.Source, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &source{ob: o, cfg: cfg}, nil
}

// Place implements driver.Placed. The host is the server's own name, on SQLite this machine's;
// SQLite has no instance.
func (s *source) Place(ctx context.Context) (p driver.Place, err error) {
	err = s.ob.log.Look(ctx, func(q sqlstore.Querier) error {
		sql := s.ob.log.SQL
		if s.ob.log.Dialect.OneWriter {
			p.Host, _ = os.Hostname() // empty if it is not known
			return q.QueryRowContext(ctx, sql["place_file"]).Scan(&p.Database)
		}
		rows, err := q.QueryContext(ctx, sql["place"])
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // Err has reported everything
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			if name == "hostname" {
				p.Host = value
			} else {
				p.Instance = value
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, sql["place_database"]).Scan(&p.Database)
	})
	return p, err
}

// Acquire implements driver.Source.
func (s *source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.ob.log.Acquire(ctx, sqllog.Reader{Group: s.cfg.Group, Topics: s.cfg.Topics, Begin: s.begin}, ttl)
	if err != nil {
		return nil, s.unusable(err)
	}
	return session, nil
}

// Wakes implements driver.Source: commits announced by this process, and on SQLite those of other
// processes.
func (s *source) Wakes(ctx context.Context) <-chan struct{} {
	c := s.ob.bell.listen(ctx)
	if s.ob.log.Dialect.OneWriter {
		go s.ob.watch(ctx, c)
	}
	return c
}
