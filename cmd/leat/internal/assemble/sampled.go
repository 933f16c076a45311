package assemble

import (
	"context"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

// sampledOutbox returns the figures of the sample that the dashboard's pages share.
type sampledOutbox struct {
	admin.Outbox

	name string
	by   *dashboard.Dashboard
}

// Stats implements admin.Outbox.
func (s sampledOutbox) Stats(ctx context.Context) (admin.Stats, error) {
	return s.by.OutboxStats(ctx, s.name)
}

// sampledInbox is the same for an inbox.
type sampledInbox struct {
	inboxadmin.Inbox

	name string
	by   *dashboard.Dashboard
}

// Stats implements inboxadmin.Inbox.
func (s sampledInbox) Stats(ctx context.Context) (inboxadmin.Stats, error) {
	return s.by.InboxStats(ctx, s.name)
}

// shareSamples lets metrics take the figures of stores from the dashboard, if there is one, so that a
// database is queried once for both.
func (b *builder) shareSamples() {
	shows, ok := b.made.Config.Handler.(*dashboard.Dashboard)
	if !ok {
		return
	}
	for name := range b.shown.Outboxes {
		b.outboxes[name] = sampledOutbox{b.outboxes[name], name, shows}
	}
	for name := range b.shown.Inboxes {
		b.inboxes[name] = sampledInbox{b.inboxes[name], name, shows}
	}
}
