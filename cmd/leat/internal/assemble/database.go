package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// poolFor is how many connections of a pool all parts need, which borrow them: relays have
// connections of their own besides.
func (b *builder) poolFor() int {
	n := 4
	for i := range b.in.Daemon.Outboxes {
		n += 4 + len(b.in.Daemon.Outboxes[i].Relays)
	}
	return n + 2*len(b.in.Daemon.Inboxes)
}

// database opens the database at url, once; nil if it cannot be.
func (b *builder) database(url settings.Text, section settings.Place) *open.Postgres {
	address := cmp.Or(url.Value, b.in.Database)
	if db, ok := b.databases[address]; ok {
		return db
	}
	opened, err := open.Open(b.ctx, open.Target{URL: address, Connections: b.poolFor(), Dial: b.in.Dial, Logger: b.in.Logger})
	if err != nil {
		at := url
		if !at.Set() {
			at = b.in.Settings.Database
		}
		b.findings = append(b.findings, settings.Finding{Line: cmp.Or(at.Line(), section.Line), Text: plain(err)})
		return nil
	}
	db, ok := opened.(*open.Postgres)
	if !ok {
		b.missing(section, "database", errNotPostgres.Error())
		return nil
	}
	b.databases[address] = db
	b.made.closers = append(b.made.closers, closer(db.Close))
	b.made.Config.Databases = append(b.made.Config.Databases, daemon.Database{Name: databaseName(db.Pool, len(b.databases)), Ping: db.Ping})
	return db
}

var errNotPostgres = errors.New("the daemon runs on PostgreSQL only")

// databaseName is the name of a database for operators, without what is secret.
func databaseName(pool *pgxpool.Pool, no int) string {
	c := pool.Config().ConnConfig
	if c.Host == "" {
		return "database " + strconv.Itoa(no)
	}
	if strings.HasPrefix(c.Host, "/") {
		return c.Host + "/" + c.Database
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// plain is the text of an error of the configuration without secrets.
func plain(err error) string {
	return strings.ReplaceAll(settings.Redact(err.Error()), "leat: invalid configuration: ", "")
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q: %w", address, errAddress)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q: %w", address, errAddress)
	}
	return nil
}
