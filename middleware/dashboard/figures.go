package dashboard

import (
	"context"
	"errors"
	"fmt"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// errNoStore is returned for a store that the dashboard does not have.
var errNoStore = errors.New("leat: the dashboard has no such store")

// OutboxStats returns Stats of the outbox called name, at most ten seconds old: of the sample
// that all pages share, so that who asks as well, such as a sampler of metrics in the same
// process, costs its database nothing. It returns the error of the store if it did not answer.
func (d *Dashboard) OutboxStats(ctx context.Context, name string) (admin.Stats, error) {
	s, err := d.sampler.get(ctx, idleAge)
	if err != nil {
		return admin.Stats{}, err
	}
	o, ok := s.outboxes[name]
	if !ok {
		return admin.Stats{}, fmt.Errorf("%w: outbox %q", errNoStore, name)
	}
	return o.stats, o.failed
}

// InboxStats does the same for the inbox called name.
func (d *Dashboard) InboxStats(ctx context.Context, name string) (inboxadmin.Stats, error) {
	s, err := d.sampler.get(ctx, idleAge)
	if err != nil {
		return inboxadmin.Stats{}, err
	}
	i, ok := s.inboxes[name]
	if !ok {
		return inboxadmin.Stats{}, fmt.Errorf("%w: inbox %q", errNoStore, name)
	}
	return i.stats, i.failed
}
