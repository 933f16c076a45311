package debezium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// HandoffConfig names the relay and the connector of a Handoff.
type HandoffConfig struct {
	// Source is the relay's, so that its group begins as the relay expects. Start is only used
	// with a Table, for the other messages of the outbox; it defaults to Now.
	Source pgoutbox.SourceConfig
	// Table is the connector's table, whose rows producers insert themselves, without Pending.
	// Defaults to nil: the connector reads leat's own table.
	Table *adopt.Table
	// Log is the qualified name of leat's own table, quoted where need be.
	// Defaults to "leat.outbox".
	Log string
	// Poll is the time between two looks.
	// Defaults to 200 ms.
	Poll time.Duration
	// Restart is how long AwaitConnector waits for a connector that has rows left and does not
	// use its slot, so that it may be restarted in between. Defaults to 1 min.
	Restart time.Duration
	// Actor and Reason are stored in the audit of the group. Required.
	Actor, Reason string
}

// Handoff replaces a connector by a relay, or switches back. No message is lost, none is sent
// with another id, and the first copy of each message is sent in the order of its key; what
// commits in between is sent by both. Its methods are the steps. Each can be repeated; they must
// not be called concurrently.
type Handoff struct {
	ob   *pgoutbox.Outbox
	slot *Slot
	cfg  HandoffConfig
}

// NewHandoff returns a handoff. It connects to nothing. Errors wrap outbox.ErrInvalidConfig.
func NewHandoff(ob *pgoutbox.Outbox, slot *Slot, cfg HandoffConfig) (*Handoff, error) {
	cfg.Source.Group = cmp.Or(cfg.Source.Group, "default")
	cfg.Log = cmp.Or(cfg.Log, "leat.outbox")
	cfg.Poll = cmp.Or(cfg.Poll, 200*time.Millisecond)
	cfg.Restart = cmp.Or(cfg.Restart, time.Minute)
	switch {
	case ob == nil:
		return nil, outbox.ConfigError("ob", nil, "must not be nil")
	case slot == nil:
		return nil, outbox.ConfigError("slot", nil, "must not be nil")
	case cfg.Poll < time.Millisecond:
		return nil, outbox.ConfigError("Poll", cfg.Poll, "must be at least 1ms")
	case cfg.Restart < time.Millisecond:
		return nil, outbox.ConfigError("Restart", cfg.Restart, "must be at least 1ms")
	}
	if err := admin.Complete(&admin.By{Actor: cfg.Actor, Reason: cfg.Reason}); err != nil {
		return nil, outbox.ConfigError("Actor, Reason", strconv.Quote(cfg.Actor)+", "+strconv.Quote(cfg.Reason), err.Error())
	}
	if cfg.Table == nil || !cfg.Source.Start.IsStated() {
		cfg.Source.Start = driver.Start{Now: true}
	}
	return &Handoff{ob: ob, slot: slot, cfg: cfg}, nil
}

// Prepare is the first step from a connector to a relay, while the connector runs and the relay
// does not. It starts the relay's group, adopts the connector's table if there is one, and
// returns a log position of the connector after both: what the relay will not send is before it.
// With a Table, a group that exists is kept as it is, since it has not seen the rows; without one
// it begins anew, see LeavesOut. Prepare fails if the connector is stopped and has not sent
// everything, if a relay of the group runs, if records of the group are held, or if there is no
// slot; errors may be those of adopt.Table.Adopt.
func (h *Handoff) Prepare(ctx context.Context) (position string, err error) {
	known, err := h.MayPrepare(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case !known:
		err = h.begin(ctx)
	case h.cfg.Table == nil:
		err = h.ob.Rebase(ctx, h.anew())
	}
	if err == nil && h.cfg.Table != nil {
		err = h.cfg.Table.Adopt(ctx)
	}
	if err != nil {
		return "", err
	}
	return h.slot.Mark(ctx)
}

// MayPrepare returns what Prepare would refuse, and changes nothing. It reports whether the group
// exists.
func (h *Handoff) MayPrepare(ctx context.Context) (known bool, err error) {
	if _, err := h.slot.State(ctx); err != nil {
		return false, err
	}
	if h.cfg.Table != nil {
		if _, err := h.cfg.Table.Plan(ctx); err != nil {
			return false, err
		}
	}
	group, err := h.group(ctx)
	if errors.Is(err, admin.ErrNoSuchGroup) {
		return false, h.slot.mayCatchUp(ctx)
	}
	if err != nil {
		return false, err
	}
	err = noRelay(group)
	if err == nil {
		err = nothingHeld(group)
	}
	if err == nil {
		err = h.slot.mayCatchUp(ctx)
	}
	return true, err
}

// LeavesOut returns how many messages Prepare would leave out: those that a group which begins
// anew has not sent. That is correct if the connector has sent them, or will; they are lost if
// they belong to another group. It reads the whole log once, and changes nothing.
func (h *Handoff) LeavesOut(ctx context.Context) (int64, error) {
	if h.cfg.Table != nil {
		return 0, nil
	}
	_, err := h.group(ctx)
	if errors.Is(err, admin.ErrNoSuchGroup) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	plan, err := h.ob.PlanRebase(ctx, h.anew())
	return plan.LeavesOut, err
}

// anew starts the group at what commits from now on: the connector sends the rest.
func (h *Handoff) anew() pgoutbox.RebaseRequest {
	return pgoutbox.RebaseRequest{
		Group: h.cfg.Source.Group, Start: driver.Start{Now: true}, LeaveOut: math.MaxInt64, Actor: h.cfg.Actor, Reason: h.cfg.Reason,
	}
}

// AwaitConnector is the second step from a connector to a relay: it waits until the connector has
// sent everything up to the position that Prepare returned. Then stop the connector, start the
// relay, and drop the slot. An idle connector confirms nothing: if AwaitConnector does not
// return, stop the connector. It fails if a relay has been started already, if the slot has been
// unused for HandoffConfig.Restart and rows are left, if there is no slot, or if the slot has
// lost its log.
func (h *Handoff) AwaitConnector(ctx context.Context, position string) error {
	var connector absent
	return h.until(ctx, func() (bool, error) {
		group, err := h.group(ctx)
		if err == nil {
			err = noRelay(group)
		}
		if err != nil {
			return false, err
		}
		return connector.look(ctx, h.slot, position, h.cfg.Restart)
	})
}

// PrepareConnector is the first step from a relay to a connector, while the relay runs and the
// connector does not. It creates the publication and the slot unless they exist, and releases the
// connector's table if there is one. It fails if records are held or if the slot is older than
// the publication. Errors wrap outbox.ErrInvalidConfig if the connector would make a snapshot or
// the publication does not include all rows, and those of adopt.Table.Release.
func (h *Handoff) PrepareConnector(ctx context.Context) error {
	if err := h.MayPrepareConnector(ctx); err != nil {
		return err
	}
	if err := h.slot.publish(ctx, h.table()); err != nil {
		return err
	}
	_, err := h.slot.State(ctx)
	if errors.Is(err, errNoSlot) {
		_, err = h.slot.Create(ctx)
	}
	if err == nil && h.cfg.Table != nil {
		err = h.cfg.Table.Release(ctx)
	}
	return err
}

// MayPrepareConnector returns what PrepareConnector would refuse, and changes nothing.
func (h *Handoff) MayPrepareConnector(ctx context.Context) error {
	group, err := h.group(ctx)
	if err == nil {
		err = nothingHeld(group)
	}
	if err == nil {
		err = h.slot.mayGoOn(ctx, h.table())
	}
	return err
}

// AwaitRelay is the second step from a relay to a connector: it waits until the relay has
// sent all that had committed when PrepareConnector returned. Then stop the relay, unless it
// has other messages to send, and start the connector without offsets of its own. It fails
// while records are held.
func (h *Handoff) AwaitRelay(ctx context.Context) error {
	group, err := h.group(ctx)
	if err != nil {
		return err
	}
	waiting := awaiting(group)
	return h.until(ctx, func() (bool, error) {
		now, err := h.group(ctx)
		if err != nil || !waiting.look(now) {
			return false, err
		}
		return true, nothingHeld(now)
	})
}

// until polls until done reports true.
func (h *Handoff) until(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := wait.For(ctx, h.cfg.Poll); err != nil {
			return err
		}
	}
}

// begin creates the group, as its relay would.
func (h *Handoff) begin(ctx context.Context) error {
	source, err := h.ob.Source(h.cfg.Source)
	if err != nil {
		return err
	}
	session, err := source.Acquire(ctx, beginLease)
	if err != nil {
		return err
	}
	return session.Release(ctx)
}

// beginLease is longer than creating a group takes.
const beginLease = 10 * time.Second

// group returns the state of the relay's group. Errors wrap admin.ErrNoSuchGroup.
func (h *Handoff) group(ctx context.Context) (admin.GroupStats, error) {
	stats, err := h.ob.Admin().Stats(ctx)
	if err != nil {
		return admin.GroupStats{}, err
	}
	i := slices.IndexFunc(stats.Groups, func(g admin.GroupStats) bool { return g.Name == h.cfg.Source.Group })
	if i < 0 {
		return admin.GroupStats{}, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, h.cfg.Source.Group)
	}
	return stats.Groups[i], nil
}

// noRelay returns an error if a relay of the group runs.
func noRelay(group admin.GroupStats) error {
	for _, s := range group.Slots {
		if s.LeaseLeft > 0 {
			return fmt.Errorf("%w: %s leads slot %d of %s", errRelayRunning, s.Owner, s.Slot, group.Name)
		}
	}
	return nil
}

func nothingHeld(group admin.GroupStats) error {
	if group.Held > 0 {
		return fmt.Errorf("%w: %d of group %s", errRecordsHeld, group.Held, group.Name)
	}
	return nil
}

// table is the name of the table that the connector reads.
func (h *Handoff) table() string {
	if h.cfg.Table != nil {
		return h.cfg.Table.Name()
	}
	return h.cfg.Log
}
