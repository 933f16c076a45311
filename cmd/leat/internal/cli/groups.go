package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Groups are the commands about relay groups.
type Groups struct {
	List      GroupsList   `cmd:"" help:"All relay groups."`
	Show      GroupsShow   `cmd:"" help:"One group, and its relays that live."`
	Pause     GroupsPause  `cmd:"" help:"Stop sending, or stop sending to some topics."`
	Resume    GroupsResume `cmd:"" help:"Go on after a pause."`
	SetMaxLag GroupsMaxLag `cmd:"" help:"Limit how far a group may fall behind and still hold history back."`
	Remove    GroupsRemove `cmd:"" help:"Remove a group for good: its position, its held and parked records."`
}

// groupRow is the JSON of a relay group.
type groupRow struct {
	Name          string    `json:"name"`
	Slots         int       `json:"slots"`
	NextSlots     int       `json:"next_slots,omitempty"`
	Topics        []string  `json:"topics,omitempty"`
	MaxLagSeconds float64   `json:"max_lag_seconds"`
	Paused        []string  `json:"paused,omitempty"`
	CreatedAt     time.Time `json:"created_at,omitzero"`
	Leases        int       `json:"leases"`
	Relays        int       `json:"relays"`
}

func newGroupRow(g admin.Group) groupRow {
	return groupRow{g.Name, g.Slots, g.NextSlots, g.Topics, show.Seconds(g.MaxLag), g.Paused, utc(g.CreatedAt), g.Leases, g.Relays}
}

func (g groupRow) slots() string {
	if g.NextSlots > 0 {
		return fmt.Sprintf("%d → %d", g.Slots, g.NextSlots)
	}
	return strconv.Itoa(g.Slots)
}

func (g groupRow) topics() string {
	if len(g.Topics) == 0 {
		return "all"
	}
	return strings.Join(g.Topics, ", ")
}

func (g groupRow) maxLag() string {
	if g.MaxLagSeconds == 0 {
		return show.None
	}
	return show.Duration(time.Duration(g.MaxLagSeconds * float64(time.Second)))
}

// GroupsList is groups list.
type GroupsList struct{}

// Run lists the groups.
func (*GroupsList) Run(d *Deps) error {
	store, err := d.Store("")
	if err != nil {
		return err
	}
	groups, err := store.Groups(d.Context)
	if err != nil {
		return err
	}
	list := show.List[groupRow]{Name: "groups", Empty: "There is no relay group.", Columns: []show.Column[groupRow]{
		textColumn("GROUP", func(g groupRow) string { return g.Name }),
		{Title: "SLOTS", Right: true, Cell: func(_ *show.Printer, g groupRow) string { return g.slots() }},
		countColumn("LEASES", func(g groupRow) int64 { return int64(g.Leases) }),
		countColumn("RELAYS", func(g groupRow) int64 { return int64(g.Relays) }),
		textColumn("TOPICS", groupRow.topics),
		textColumn("PAUSED", func(g groupRow) string { return strings.Join(g.Paused, ", ") }),
		textColumn("MAX LAG", groupRow.maxLag),
		timeColumn("CREATED", func(g groupRow) time.Time { return g.CreatedAt }),
	}}
	return list.Print(d.Printer, rowsOf(groups, newGroupRow), "")
}

// memberRow is the JSON of a relay.
type memberRow struct {
	Name        string    `json:"name"`
	Slots       []int     `json:"slots"`
	WantedSlots int       `json:"wanted_slots,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	Until       time.Time `json:"until,omitzero"`
}

// groupShown is the JSON of groups show.
type groupShown struct {
	groupRow

	Members []memberRow `json:"members"`
}

// GroupsShow is groups show.
type GroupsShow struct {
	Group string `arg:"" help:"Name of the group." predictor:"group"`
}

// Run prints the group.
func (g *GroupsShow) Run(d *Deps) error {
	store, err := d.Store(g.Group)
	if err != nil {
		return err
	}
	group, err := findGroup(d, store, g.Group)
	if err != nil {
		return err
	}
	members, err := store.Members(d.Context, g.Group)
	if err != nil {
		return err
	}
	shown := groupShown{newGroupRow(group), rowsOf(members, func(m admin.Member) memberRow {
		return memberRow{m.Name, append([]int{}, m.Slots...), m.WantedSlots, utc(m.Since), utc(m.Until)}
	})}
	facts := []show.Fact{
		{Name: "group", Value: show.Plain(shown.Name)},
		{Name: "slots", Value: shown.slots()},
		{Name: "topics", Value: show.Plain(shown.topics())},
		{Name: "paused", Value: show.Plain(strings.Join(shown.Paused, ", "))},
		{Name: "max lag", Value: shown.maxLag()},
		{Name: "created", Value: d.Time(shown.CreatedAt)},
	}
	for _, m := range shown.Members {
		slots := "standby"
		if len(m.Slots) > 0 {
			slots = "slots " + strings.Trim(fmt.Sprint(m.Slots), "[]")
		}
		facts = append(facts, show.Fact{Name: "relay", Value: show.Plain(m.Name) + ", " + slots})
	}
	return d.Object(shown, facts...)
}

func findGroup(d *Deps, store admin.Outbox, name string) (admin.Group, error) {
	groups, err := store.Groups(d.Context)
	if err != nil {
		return admin.Group{}, err
	}
	for _, g := range groups {
		if g.Name == name {
			return g, nil
		}
	}
	return admin.Group{}, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, name)
}

// GroupsMaxLag is groups set-max-lag.
type GroupsMaxLag struct {
	Changing

	Group  string `arg:"" help:"Name of the group." predictor:"group"`
	MaxLag Span   `arg:"" help:"Age of its oldest unsettled message from which it loses history, such as 24h; 0s: it always holds history back."`
}

// Run sets the limit.
func (g *GroupsMaxLag) Run(d *Deps) error {
	manager, group, by, err := g.find(d)
	if err != nil {
		return err
	}
	before, after := newGroupRow(group), newGroupRow(group)
	after.MaxLagSeconds = show.Seconds(time.Duration(g.MaxLag))
	change := groupChange{
		Action: "set_max_lag", DryRun: g.DryRun, Group: g.Group, before: "greatest lag " + before.maxLag(), after: "greatest lag " + after.maxLag(),
	}
	return change.run(d, g.Changing, ask.Question{}, func() error {
		return manager.SetMaxLag(d.Context, admin.MaxLagRequest{By: by, Group: g.Group, MaxLag: time.Duration(g.MaxLag)})
	})
}

func (g *GroupsMaxLag) find(d *Deps) (admin.Manager, admin.Group, admin.By, error) {
	store, err := d.Store(g.Group)
	manager, err := capable[admin.Manager](d, store, err, "change relay groups")
	if err != nil {
		return nil, admin.Group{}, admin.By{}, err
	}
	by, err := d.by(g.Changing)
	if err != nil {
		return nil, admin.Group{}, by, err
	}
	group, err := findGroup(d, manager, g.Group)
	return manager, group, by, err
}

// GroupsRemove is groups remove.
type GroupsRemove struct {
	Changing

	Group string `arg:"" help:"Name of the group." predictor:"group"`
}

// Run removes the group.
func (g *GroupsRemove) Run(d *Deps) error {
	store, err := d.Store(g.Group)
	manager, err := capable[admin.Manager](d, store, err, "change relay groups")
	if err != nil {
		return err
	}
	by, err := d.by(g.Changing)
	if err != nil {
		return err
	}
	request := admin.RemoveGroupRequest{By: by, Group: g.Group, DryRun: true}
	would, err := manager.RemoveGroup(d.Context, request)
	if err != nil {
		return err
	}
	dropped := changedRow{Action: "remove_group", Group: g.Group, DryRun: true, Count: would.Count, IDs: would.IDs}
	dropped.would = fmt.Sprintf("Would remove group %s with its position, and drop %s.", show.Plain(g.Group), show.Things(int64(would.Count), "record"))
	if g.DryRun {
		return dropped.print(d)
	}
	if err := d.confirm(g.Changing, ask.Question{Text: dropped.would, Name: g.Group}); err != nil {
		return err
	}
	request.DryRun = false
	done, err := manager.RemoveGroup(d.Context, request)
	if err != nil {
		return err
	}
	dropped = changedRow{Action: "remove_group", Group: g.Group, Count: done.Count, IDs: done.IDs}
	dropped.did = fmt.Sprintf("Removed group %s, dropped %s.", show.Plain(g.Group), show.Things(int64(done.Count), "record"))
	return dropped.print(d)
}
