package assemble

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
)

// outbox makes the relays and the maintenance of an outbox.
func (b *builder) outbox(o *settings.Outbox) {
	name := o.Name.Value
	switch {
	case name == "":
		b.missing(o.At, "name", "must be set: metrics and the status call it so")
	case slices.ContainsFunc(b.in.Daemon.Outboxes, func(other settings.Outbox) bool {
		return other.Name.Value == name && other.At != o.At
	}):
		b.wrong(o.Name, "another outbox has this name")
	}
	if len(o.Relays) == 0 && o.Maintenance == nil {
		b.missing(o.At, "relays", "there is none, and no maintenance: nothing is to run")
	}
	db := b.database(o.Database, o.At)
	if db == nil {
		db = b.anywhere() // so that the rest is checked as well
	}
	s := b.tables(o.Database)
	target := open.Target{
		Schema: cmp.Or(o.Schema.Value, s.Schema.Value), Outbox: cmp.Or(o.Table.Value, s.Outbox.Value), Forwarder: o.Forwarder.Value,
		AsyncCommit: b.yes(o.AllowAsyncCommit), Logger: b.in.Logger,
	}
	if o.Forwarder.Set() {
		target.ForwarderSchema = o.Schema.Value
		if o.Table.Set() {
			b.wrong(o.Table, "leave it out: the table of a forwarder is called watermill_ and its topic")
		}
	}
	store, err := db.Relayed(target)
	if err != nil {
		b.refused(o.At, o, err)
		return
	}
	b.outboxes[name] = store.Admin()
	b.showOutbox(name, o.Database, target)
	var observed *metrics.Outbox
	if b.metrics != nil && name != "" {
		if observed, err = b.metrics.Outbox(name); err != nil {
			b.wrong(o.Name, plain(err))
		}
	}
	for i := range o.Relays {
		b.relay(&o.Relays[i], o.Expect, name, store, observed)
	}
	if o.Maintenance != nil {
		b.maintenance(o, name, store, observed)
	}
}

// anywhere returns a database that is never connected to.
func (b *builder) anywhere() open.Database {
	const nowhere = "postgres://nowhere/none"
	if db, ok := b.databases[nowhere]; ok {
		return db
	}
	db, err := open.Open(b.ctx, open.Target{URL: nowhere, Logger: b.in.Logger})
	if err != nil {
		panic("leat: a literal URL does not parse") // cannot happen
	}
	b.databases[nowhere] = db
	b.made.closers = append(b.made.closers, closer(db.Close))
	return db
}

func (b *builder) maintenance(o *settings.Outbox, name string, store open.Relayed, observed *metrics.Outbox) {
	m := o.Maintenance
	cfg := open.Upkeep{
		Interval: b.span(m.Interval), Lease: b.span(m.Lease), Retention: b.age(m.Retention, -1), MaxBytes: b.size(m.MaxBytes),
		PartitionSize: int64(b.count(m.PartitionSize, 1)), Ahead: b.count(m.Ahead, 1), NoDDL: b.yes(m.NoDDL),
		KeepAudit: b.age(m.KeepAudit, 0), KeepDead: b.age(m.KeepDead, 0),
	}
	if m.Archive != nil {
		b.ownArchive(m.Archive.Dir, name)
		archive, err := newArchive(m.Archive.Dir.Value, name)
		if err != nil {
			b.refused(m.Archive.At, m.Archive, err)
		} else {
			cfg.Archive = archive.write
		}
	}
	if observed != nil {
		cfg.Hooks = []outbox.Hook{observed.Maintenance()}
	}
	cfg.Hooks = append(cfg.Hooks, b.in.Hooks...)
	made, err := store.Maintenance(cfg)
	if err != nil {
		b.refused(m.At, m, err)
		return
	}
	part, err := daemon.MaintainOutbox(cmp.Or(name, "?"), made)
	if err != nil {
		b.refused(m.At, m, err)
		return
	}
	b.made.Config.Maintenance = append(b.made.Config.Maintenance, part)
}

// ownArchive checks that files of another outbox cannot have the same names as those of the outbox called
// name.
func (b *builder) ownArchive(dir settings.Text, name string) {
	for i := range b.in.Daemon.Outboxes {
		other := &b.in.Daemon.Outboxes[i]
		if other.Name.Value == name || other.Maintenance == nil || other.Maintenance.Archive == nil {
			continue
		}
		if filepath.Clean(other.Maintenance.Archive.Dir.Value) == filepath.Clean(dir.Value) && safe(other.Name.Value) == safe(name) {
			b.wrong(dir, fmt.Sprintf("files of outbox %q would be called like those of %q: give each a directory of its own", name, other.Name.Value))
		}
	}
}
