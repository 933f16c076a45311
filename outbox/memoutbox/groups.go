package memoutbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// slots returns the slots of all groups, by group and number. The caller holds ob.mu.
func (ob *Outbox) slots() []*group {
	return slices.SortedFunc(maps.Values(ob.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.slot, b.slot))
	})
}

// unsettled returns what a slot has not settled, window by window. The caller holds ob.mu.
func (ob *Outbox) unsettled(g *group) []outbox.Record {
	part := func(window []outbox.Record) []outbox.Record {
		return slices.DeleteFunc(window, func(r outbox.Record) bool { return int(r.Shard)%g.slots != g.slot })
	}
	return slices.Concat(part(ob.window(g.pos))[g.pos.done:], part(slices.Clone(ob.log[g.pos.to:])))
}

// leads reports whether the slot's lease is held now.
func (g *group) leads() bool {
	return g.held && time.Now().Before(g.until)
}

// Groups implements admin.Outbox.
func (ob *Outbox) Groups(ctx context.Context) ([]admin.Group, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	var all []admin.Group
	for _, g := range ob.slots() {
		if g.slot == 0 {
			all = append(all, admin.Group{Name: g.name, Slots: g.slots, Paused: slices.Clone(ob.paused[g.name]), MaxLag: ob.maxLag[g.name]})
		}
		if last := &all[len(all)-1]; g.leads() {
			last.Leases++
			last.Relays++
		}
	}
	return all, ctx.Err()
}

// Members implements admin.Outbox: each lease counts as a relay of its own.
func (ob *Outbox) Members(ctx context.Context, name string) ([]admin.Member, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(name); err != nil {
		return nil, err
	}
	var all []admin.Member
	for _, g := range ob.slots() {
		if g.name == name && g.leads() {
			all = append(all, admin.Member{Name: ownerOf(g.name, g.epoch), Slots: []int{g.slot}, Until: g.until.UTC()})
		}
	}
	return all, ctx.Err()
}

// known returns an error for a group that no source has read. The caller holds ob.mu.
func (ob *Outbox) known(name string) error {
	if ob.groups[slotName{name, 0}] == nil {
		return fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, name)
	}
	return nil
}

// RemoveGroup implements admin.GroupManager.
func (ob *Outbox) RemoveGroup(ctx context.Context, req admin.RemoveGroupRequest) (admin.Changed, error) {
	if err := req.Check(); err != nil {
		return admin.Changed{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(req.Group); err != nil {
		return admin.Changed{}, err
	}
	for _, g := range ob.slots() {
		if g.name == req.Group && g.leads() {
			return admin.Changed{}, fmt.Errorf("%w: %q holds a lease of %q", admin.ErrGroupActive, ownerOf(g.name, g.epoch), g.name)
		}
	}
	held := ob.heldOf(req.Group)
	n := held.Stats().Held
	if !req.DryRun {
		held.Clear()
		maps.DeleteFunc(ob.groups, func(_ slotName, g *group) bool { return g.name == req.Group })
		delete(ob.shares, req.Group)
		delete(ob.maxLag, req.Group)
		delete(ob.paused, req.Group)
		ob.note("remove_group", req.Group, "", req.By, map[string]any{"held": n})
	}
	return admin.Changed{Count: n}, ctx.Err()
}

// SetMaxLag implements admin.GroupManager. Nothing is ever dropped from memory: the lag
// is only kept.
func (ob *Outbox) SetMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	if err := req.Check(); err != nil {
		return err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(req.Group); err != nil {
		return err
	}
	ob.maxLag[req.Group] = req.MaxLag
	ob.note("set_max_lag", req.Group, "", req.By, map[string]any{"max_lag": req.MaxLag.String()})
	return ctx.Err()
}

// note writes down what an operator has done with a group or a message that is not held.
// The caller holds ob.mu.
func (ob *Outbox) note(action, group, id string, by admin.By, details map[string]any) {
	raw, _ := json.Marshal(details) // texts, numbers and times
	ob.audit.Add(admin.AuditEntry{
		At: clock(), Action: action, Actor: by.Actor, Reason: by.Reason, Group: group, ID: id, Details: raw,
	})
}
