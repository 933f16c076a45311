package memoutbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// slots returns the slots of all groups, by group and number. The caller holds ob.mu.
func (ob *Outbox) slots() []*group {
	all := slices.SortedFunc(maps.Values(ob.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.slot, b.slot))
	})
	return slices.DeleteFunc(all, func(g *group) bool { return g.slot >= ob.shares[g.name].slots })
}

// unsettled returns the records that a slot has not settled, window by window. The caller holds
// ob.mu.
func (ob *Outbox) unsettled(g *group) iter.Seq[*outbox.Record] {
	s := &session{ob: ob, slot: g.slot, slots: ob.shares[g.name].slots, topics: g.topics}
	return func(yield func(*outbox.Record) bool) {
		if g.pos.done < g.pos.to-g.pos.from { // the slot's records may be settled, and the others not
			window := s.part(ob.window(g.pos))
			for i := g.pos.done; i < len(window); i++ {
				if !yield(&window[i]) {
					return
				}
			}
		}
		for i := g.pos.to; i < len(ob.log); i++ {
			if r := &ob.log[i]; s.owns(r) && !yield(r) {
				return
			}
		}
	}
}

// Groups implements admin.Outbox.
func (ob operator) Groups(ctx context.Context) ([]admin.Group, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	var all []admin.Group
	for _, g := range ob.slots() {
		if g.slot == 0 {
			h := ob.shares[g.name]
			all = append(all, admin.Group{
				Name: g.name, Slots: h.slots, NextSlots: h.next, Topics: slices.Clone(g.topics),
				Paused: slices.Clone(ob.paused[g.name]), MaxLag: ob.maxLag[g.name],
				Policies: basis.ParsePolicies(ob.notes[g.name]).Alive("", time.Now()).Texts(),
			})
		}
		if last := &all[len(all)-1]; g.leased() {
			last.Leases++
			last.Relays++
		}
	}
	return all, ctx.Err()
}

// Members implements admin.Outbox.
func (ob operator) Members(ctx context.Context, name string) ([]admin.Member, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(name); err != nil {
		return nil, err
	}
	var all []admin.Member
	for _, g := range ob.slots() {
		if g.name == name && g.leased() {
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

// idle is known, and also returns an error for a group that is being read. The caller holds
// ob.mu.
func (ob *Outbox) idle(name string) error {
	for _, g := range ob.slots() {
		if g.name == name && g.leased() {
			return fmt.Errorf("%w: %q holds a lease of %q", admin.ErrGroupActive, ownerOf(g.name, g.epoch), g.name)
		}
	}
	return ob.known(name)
}

// RemoveGroup implements admin.Manager.
func (ob operator) RemoveGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	if err := req.Fits("remove_group"); err != nil {
		return admin.Changed{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.idle(req.Group); err != nil {
		return admin.Changed{}, err
	}
	held := ob.heldOf(req.Group)
	n, unread := held.Stats().Held, int64(0)
	for _, g := range ob.slots() {
		if g.name == req.Group {
			for range ob.unsettled(g) {
				unread++
			}
		}
	}
	if !req.DryRun {
		held.Clear()
		maps.DeleteFunc(ob.groups, func(_ slotName, g *group) bool { return g.name == req.Group })
		delete(ob.shares, req.Group)
		delete(ob.maxLag, req.Group)
		delete(ob.paused, req.Group)
		delete(ob.notes, req.Group)
		maps.DeleteFunc(ob.former, func(_, now string) bool { return now == req.Group })
		ob.note(admin.AuditEntry{Action: "remove_group", Group: req.Group}, req.By, map[string]any{"held": n, "unread": unread})
	}
	return admin.Changed{Count: n, Unread: unread}, ctx.Err()
}

// RenameGroup implements admin.Manager.
func (ob operator) RenameGroup(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("rename_group")); err != nil {
		return admin.Changed{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.idle(req.Group); err != nil {
		return admin.Changed{}, err
	}
	if ob.known(req.Name) == nil {
		return admin.Changed{}, fmt.Errorf("%w: Name = %.200q: there is a group of this name", admin.ErrInvalidRequest, req.Name)
	}
	changed.Count = ob.heldOf(req.Group).Stats().Held
	for _, g := range ob.slots() {
		if g.name == req.Group {
			for range ob.unsettled(g) {
				changed.Unread++
			}
		}
	}
	if !req.DryRun {
		ob.rename(req.Group, req.Name)
		ob.note(admin.AuditEntry{Action: "rename_group", Group: req.Group}, req.By, map[string]any{
			"name": req.Name, "held": changed.Count, "unread": changed.Unread,
		})
	}
	return changed, ctx.Err()
}

// rename gives a group another name. The caller holds ob.mu.
func (ob *Outbox) rename(group, name string) {
	for at, g := range ob.groups {
		if g.name == group {
			delete(ob.groups, at)
			g.name, at.group = name, name
			ob.groups[at] = g
		}
	}
	ob.held[name] = ob.heldOf(group)
	ob.held[name].Rename(name)
	delete(ob.held, group)
	move(ob.shares, group, name)
	move(ob.maxLag, group, name)
	move(ob.paused, group, name)
	move(ob.notes, group, name)
	for former, now := range ob.former {
		if now == group {
			ob.former[former] = name
		}
	}
	ob.former[group] = name
	delete(ob.former, name)
}

// move moves the entry of a name in all to another name.
func move[T any](all map[string]T, from, to string) {
	if v, ok := all[from]; ok {
		all[to] = v
		delete(all, from)
	}
}

// SetTopics implements admin.Manager.
func (ob operator) SetTopics(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("set_topics")); err != nil {
		return admin.Changed{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.idle(req.Group); err != nil {
		return admin.Changed{}, err
	}
	for _, g := range ob.slots() {
		if g.name != req.Group {
			continue
		}
		changed.Unread += ob.changeOf(g, req.Topics).Left
		if !req.DryRun {
			ob.setTopics(g, slices.Clone(req.Topics))
		}
	}
	if !req.DryRun {
		ob.note(admin.AuditEntry{Action: "set_topics", Group: req.Group}, req.By, map[string]any{"topics": req.Topics, "unread": changed.Unread})
	}
	return changed, ctx.Err()
}

// SetMaxLag implements admin.Manager.
func (ob operator) SetMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(req.Group); err != nil {
		return err
	}
	ob.maxLag[req.Group] = req.MaxLag
	ob.note(admin.AuditEntry{Action: "set_max_lag", Group: req.Group}, req.By, map[string]any{"max_lag": req.MaxLag.String()})
	return ctx.Err()
}

// note adds to the audit what an operator has done with a group or a message that is not held.
// The caller holds ob.mu.
func (ob *Outbox) note(e admin.AuditEntry, by admin.By, details map[string]any) {
	e.At, e.Actor, e.Reason = clock(), by.Actor, by.Reason
	raw, _ := json.Marshal(details) // texts, numbers and times
	e.Details = by.Annotate(raw)
	ob.audit.Add(e)
}
