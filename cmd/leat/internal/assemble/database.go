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

// borrowed is the most connections of a pool that the parts of the daemon borrow. Each borrows one for a
// moment; a part that finds none free waits until another returns one.
func (b *builder) borrowed(address string) int {
	n := 2
	for i := range b.in.Daemon.Outboxes {
		if b.addressOf(b.in.Daemon.Outboxes[i].Database) == address {
			n += 2
		}
	}
	for i := range b.in.Daemon.Inboxes {
		if b.addressOf(b.in.Daemon.Inboxes[i].Database) == address {
			n += 2
		}
	}
	return min(n, 8)
}

// addressOf is the URL of a database.
func (b *builder) addressOf(url settings.Text) string { return cmp.Or(url.Value, b.in.Database) }

// workAt returns the work of the daemon in the database at address.
func (b *builder) workAt(address string) (w open.Work) {
	for i := range b.in.Daemon.Outboxes {
		o := &b.in.Daemon.Outboxes[i]
		if b.addressOf(o.Database) != address {
			continue
		}
		w.Maintains = w.Maintains || o.Maintenance != nil
		for j := range o.Relays {
			r := &o.Relays[j]
			slots := max(b.count(r.Slots, 1), 1)
			w.Slots += slots
			if r.ExactlyOnce() {
				w.Apart += slots
			}
			w.Listens = w.Listens || !b.yes(r.NoListen) && !o.Forwarder.Set()
		}
	}
	return w
}

// database opens the database at url, once for each address. It returns nil if that fails.
func (b *builder) database(url settings.Text, section settings.Place) open.Database {
	address := b.addressOf(url)
	if db, ok := b.databases[address]; ok {
		return db
	}
	most := b.borrowed(address)
	if settings.IsSQL(address) {
		most += ownOfSQL * b.workAt(address).Slots
	}
	at := b.said(url)
	db, err := open.Open(b.ctx, open.Target{URL: address, Again: at.Again, Connections: most, Dial: b.in.Dial, Logger: b.in.Logger})
	if err != nil {
		b.findings = append(b.findings, settings.Finding{Line: cmp.Or(at.Line(), section.Line), Text: plain(err)})
		return nil
	}
	b.databases[address] = db
	taken := takes{Database: db, work: b.workAt(address), name: cmp.Or(db.Name(), "database "+strconv.Itoa(len(b.databases)))}
	if b.shows() != nil {
		taken.shown = windows
	}
	b.made.takes = append(b.made.takes, taken)
	b.made.closers = append(b.made.closers, closer(db.Close))
	name := cmp.Or(db.Name(), "database "+strconv.Itoa(len(b.databases)))
	b.made.Config.Databases = append(b.made.Config.Databases, daemon.Database{Name: name, Ping: db.Ping})
	return db
}

// said returns the setting that has the URL of a database.
func (b *builder) said(url settings.Text) settings.Text {
	if url.Set() {
		return url
	}
	return b.in.Settings.Database
}

// ownOfSQL is how many connections a relay on database/sql takes from the pool for itself.
const ownOfSQL = 3

// tables returns the settings that name tables in the database at url.
func (b *builder) tables(url settings.Text) settings.Settings {
	return b.in.Settings.At(cmp.Or(url.Value, b.in.Database))
}

// plain returns the text of a configuration error without secrets.
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
