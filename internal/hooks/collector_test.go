package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/relay"
)

// collector is every hook of the library: TestCollectorIsEveryHook.
type collector struct {
	mu   sync.Mutex
	seen []any
}

var (
	_ outbox.EnqueueHook     = (*collector)(nil)
	_ outbox.AlarmHook       = (*collector)(nil)
	_ admin.MaintenanceHook  = (*collector)(nil)
	_ driver.TailHook        = (*collector)(nil)
	_ relay.SendHook         = (*collector)(nil)
	_ relay.ReadHook         = (*collector)(nil)
	_ relay.LeaseHook        = (*collector)(nil)
	_ relay.ErrorHook        = (*collector)(nil)
	_ relay.HoldHook         = (*collector)(nil)
	_ relay.BreakerHook      = (*collector)(nil)
	_ relay.ProgressHook     = (*collector)(nil)
	_ driver.ReplaceHook     = (*collector)(nil)
	_ inbox.DeliveryHook     = (*collector)(nil)
	_ pginbox.ObserveHook    = (*collector)(nil)
	_ twotier.LookHook       = (*collector)(nil)
	_ inboxdriver.SourceHook = (*collector)(nil)
	_ dedupe.DeliveryHook    = (*collector)(nil)
	_ httpsink.RequestHook   = (*collector)(nil)
	_ httpsink.GoneHook      = (*collector)(nil)
	_ webhook.RequestHook    = (*collector)(nil)
)

func (c *collector) saw(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, event)
}

// kinds are the types of the events that were seen, sorted.
func (c *collector) kinds() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, e := range c.seen {
		all = append(all, fmt.Sprintf("%T", e))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *collector) OnOutboxEnqueue(_ context.Context, e outbox.EnqueueEvent) { c.saw(e) }

func (c *collector) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) { c.saw(e) }

func (c *collector) OnAdminMaintenance(_ context.Context, e admin.MaintenanceEvent) { c.saw(e) }

func (c *collector) OnRelaySend(_ context.Context, e relay.SendEvent) { c.saw(e) }

func (c *collector) OnDriverTail(_ context.Context, e driver.TailEvent) { c.saw(e) }

func (c *collector) OnRelayRead(_ context.Context, e relay.ReadEvent) { c.saw(e) }

func (c *collector) OnRelayLease(_ context.Context, e relay.LeaseEvent) { c.saw(e) }

func (c *collector) OnRelayError(_ context.Context, e relay.ErrorEvent) { c.saw(e) }

func (c *collector) OnRelayHold(_ context.Context, e relay.HoldEvent) { c.saw(e) }

func (c *collector) OnRelayBreaker(_ context.Context, e relay.BreakerEvent) { c.saw(e) }

func (c *collector) OnRelayProgress(_ context.Context, e relay.ProgressEvent) { c.saw(e) }

func (c *collector) OnDriverReplace(_ context.Context, e driver.ReplaceEvent) { c.saw(e) }

func (c *collector) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) { c.saw(e) }

func (c *collector) OnPginboxObserve(_ context.Context, e pginbox.ObserveEvent) { c.saw(e) }

func (c *collector) OnTwotierLook(_ context.Context, e twotier.LookEvent) { c.saw(e) }

func (c *collector) OnDriverSource(_ context.Context, e inboxdriver.SourceEvent) { c.saw(e) }

func (c *collector) OnDedupeDelivery(_ context.Context, e dedupe.DeliveryEvent) { c.saw(e) }

func (c *collector) OnHttpsinkRequest(_ context.Context, e httpsink.RequestEvent) { c.saw(e) }

func (c *collector) OnHttpsinkGone(_ context.Context, e httpsink.GoneEvent) { c.saw(e) }

func (c *collector) OnWebhookRequest(_ context.Context, e webhook.RequestEvent) { c.saw(e) }
