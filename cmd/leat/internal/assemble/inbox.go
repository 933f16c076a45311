package assemble

import (
	"cmp"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// inbox makes the maintenance of an inbox, and adds the inbox to the sampler.
func (b *builder) inbox(i *settings.InboxTables) {
	db := b.database(i.Database, i.At)
	if db == nil {
		db = b.anywhere()
	}
	s := b.tables(i.Database)
	target := open.Target{Schema: cmp.Or(i.Schema.Value, s.Schema.Value), Inbox: cmp.Or(i.Table.Value, s.Inbox.Value), Logger: b.in.Logger}
	name := cmp.Or(i.Name.Value, target.Inbox)
	if _, ok := b.inboxes[name]; ok {
		b.missing(i.At, "name", "another inbox is called "+name)
	}
	store, err := db.InboxAt(target)
	if err != nil {
		b.refused(i.At, i, err)
		return
	}
	b.inboxes[name] = store
	b.showInbox(name, i.Database, target)
	if !i.Retention.Set() {
		return
	}
	cfg := open.InboxUpkeep{
		Retention: b.span(i.Retention), Width: b.span(i.Width), Ahead: b.count(i.Ahead, 1), NoDDL: b.yes(i.NoDDL), Interval: b.span(i.Interval),
		KeepOther: b.age(i.KeepOther, 0), KeepAudit: b.age(i.KeepAudit, 0),
	}
	if b.metrics != nil {
		hook, err := b.metrics.InboxMaintenance(name)
		if err != nil {
			b.refused(i.At, i, err)
			return
		}
		cfg.Hooks = []outbox.Hook{hook}
	}
	made, err := db.InboxMaintenance(target, cfg)
	if err != nil {
		b.refused(i.At, i, err)
		return
	}
	part, err := daemon.MaintainInbox(name, made)
	if err != nil {
		b.refused(i.At, i, err)
		return
	}
	b.made.Config.Maintenance = append(b.made.Config.Maintenance, part)
}
