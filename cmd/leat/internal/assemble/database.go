package assemble

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// borrowed is how many connections of a pool all parts of the daemon borrow at most: each for a
// moment, and who finds none free waits for another's moment to end.
const borrowed = 8

// database opens the database at url, once; nil if it cannot be.
func (b *builder) database(url settings.Text, section settings.Place) open.Database {
	address := cmp.Or(url.Value, b.in.Database)
	if db, ok := b.databases[address]; ok {
		return db
	}
	most := borrowed
	if settings.IsSQL(address) {
		most += b.ownConnections()
	}
	at := b.said(url)
	db, err := open.Open(b.ctx, open.Target{URL: address, Again: at.Again, Connections: most, Dial: b.in.Dial, Logger: b.in.Logger})
	if err != nil {
		b.findings = append(b.findings, settings.Finding{Line: cmp.Or(at.Line(), section.Line), Text: plain(err)})
		return nil
	}
	b.databases[address] = db
	b.made.closers = append(b.made.closers, closer(db.Close))
	name := cmp.Or(db.Name(), "database "+strconv.Itoa(len(b.databases)))
	b.made.Config.Databases = append(b.made.Config.Databases, daemon.Database{Name: name, Ping: db.Ping})
	return db
}

// said is where the URL of a database stands.
func (b *builder) said(url settings.Text) settings.Text {
	if url.Set() {
		return url
	}
	return b.in.Settings.Database
}

// ownConnections are those that relays on database/sql take from the pool for themselves.
func (b *builder) ownConnections() (n int) {
	for i := range b.in.Daemon.Outboxes {
		n += 3 * len(b.in.Daemon.Outboxes[i].Relays)
	}
	return n
}

// tables are the settings that name tables in the database at url.
func (b *builder) tables(url settings.Text) settings.Settings {
	return b.in.Settings.At(cmp.Or(url.Value, b.in.Database))
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
