// Package groups has the commands for relay groups, including rebase.
package groups

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Groups are the commands about relay groups.
type Groups struct {
	List      GroupsList   `cmd:"" help:"All relay groups."`
	Show      GroupsShow   `cmd:"" help:"One group and its live relays."`
	Pause     GroupsPause  `cmd:"" help:"Stop sending, to all topics or some."`
	Resume    GroupsResume `cmd:"" help:"Go on after a pause."`
	SetMaxLag GroupsMaxLag `cmd:"" help:"Limit how long a group may hold history back."`
	SetTopics GroupsTopics `cmd:"" help:"Change a group's topics; waiting messages of dropped topics are never sent."`
	Rename    GroupsRename `cmd:"" help:"Rename a group."`
	Remove    GroupsRemove `cmd:"" help:"Remove a group for good, with its position and its held and parked records."`
}

// groupRow is the JSON of a relay group.
type groupRow struct {
	Name          string    `json:"name"`
	Slots         int       `json:"slots"`
	NextSlots     int       `json:"next_slots,omitempty"`
	Topics        []string  `json:"topics,omitempty"`
	MaxLagSeconds float64   `json:"max_lag_seconds"`
	Paused        []string  `json:"paused,omitempty"`
	Policies      []string  `json:"policies,omitempty"`
	CreatedAt     time.Time `json:"created_at,omitzero"`
	Leases        int       `json:"leases"`
	Relays        int       `json:"relays"`
}

func newGroupRow(g admin.Group) groupRow {
	return groupRow{g.Name, g.Slots, g.NextSlots, g.Topics, show.Seconds(g.MaxLag), g.Paused, g.Policies, command.UTC(g.CreatedAt), g.Leases, g.Relays}
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
func (*GroupsList) Run(d *command.Deps) error {
	store, err := d.Store("")
	if err != nil {
		return err
	}
	groups, err := store.Groups(d.Context)
	if err != nil {
		return err
	}
	list := show.List[groupRow]{Name: "groups", Empty: "There is no relay group.", Columns: []show.Column[groupRow]{
		command.TextColumn("GROUP", func(g groupRow) string { return g.Name }),
		{Title: "SLOTS", Right: true, Cell: func(_ *show.Printer, g groupRow) string { return g.slots() }},
		command.CountColumn("LEASES", func(g groupRow) int64 { return int64(g.Leases) }),
		command.CountColumn("RELAYS", func(g groupRow) int64 { return int64(g.Relays) }),
		command.TextColumn("TOPICS", groupRow.topics),
		command.TextColumn("PAUSED", func(g groupRow) string { return strings.Join(g.Paused, ", ") }),
		command.TextColumn("MAX LAG", groupRow.maxLag),
		command.TimeColumn("CREATED", func(g groupRow) time.Time { return g.CreatedAt }),
	}}
	return list.Print(d.Printer, command.RowsOf(groups, newGroupRow), "")
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
	Group string `arg:"" predictor:"group"`
}

// Run prints the group.
func (g *GroupsShow) Run(d *command.Deps) error {
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
	shown := groupShown{newGroupRow(group), command.RowsOf(members, func(m admin.Member) memberRow {
		return memberRow{m.Name, append([]int{}, m.Slots...), m.WantedSlots, command.UTC(m.Since), command.UTC(m.Until)}
	})}
	facts := []show.Fact{
		{Name: "group", Value: show.Plain(shown.Name)},
		{Name: "slots", Value: shown.slots()},
		{Name: "topics", Value: show.Plain(shown.topics())},
		{Name: "paused", Value: show.Plain(strings.Join(shown.Paused, ", "))},
		{Name: "max lag", Value: shown.maxLag()},
		{Name: "created", Value: d.Time(shown.CreatedAt)},
	}
	for _, p := range shown.Policies {
		facts = append(facts, show.Fact{Name: "policies", Value: show.Plain(p)})
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

func findGroup(d *command.Deps, store admin.Outbox, name string) (admin.Group, error) {
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
	command.Changing

	Group  string       `arg:"" predictor:"group"`
	MaxLag command.Span `arg:"" help:"Such as 24h: a group whose oldest unsettled message is older loses history. 0s for never."`
}

// Run sets the limit.
func (g *GroupsMaxLag) Run(d *command.Deps) error {
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

func (g *GroupsMaxLag) find(d *command.Deps) (admin.Manager, admin.Group, admin.By, error) {
	store, err := d.Store(g.Group)
	manager, err := command.Capable[admin.Manager](d, store, err, "change relay groups")
	if err != nil {
		return nil, admin.Group{}, admin.By{}, err
	}
	by, err := d.By(g.Changing)
	if err != nil {
		return nil, admin.Group{}, by, err
	}
	group, err := findGroup(d, manager, g.Group)
	return manager, group, by, err
}

// GroupsRemove is groups remove.
type GroupsRemove struct {
	command.Changing

	Group string `arg:"" predictor:"group"`
}

// Run removes the group.
func (g *GroupsRemove) Run(d *command.Deps) error {
	store, err := d.Store(g.Group)
	manager, err := command.Capable[admin.Manager](d, store, err, "change relay groups")
	if err != nil {
		return err
	}
	by, err := d.By(g.Changing)
	if err != nil {
		return err
	}
	request := admin.GroupRequest{By: by, Group: g.Group, DryRun: true}
	would, err := manager.RemoveGroup(d.Context, request)
	if err != nil {
		return err
	}
	dropped := changes.ChangedRow{Action: "remove_group", Group: g.Group, DryRun: true, Count: would.Count, IDs: would.IDs}
	dropped.Unread = would.Unread
	dropped.Would = fmt.Sprintf("Would remove group %s with its position, and drop %s.", show.Plain(g.Group), show.Things(int64(would.Count), "record")) +
		neverSent(would.Unread)
	if g.DryRun {
		return dropped.Print(d)
	}
	if err := d.Confirm(g.Changing, ask.Question{Text: dropped.Would, Name: g.Group}); err != nil {
		return err
	}
	request.DryRun = false
	done, err := manager.RemoveGroup(d.Context, request)
	if err != nil {
		return err
	}
	dropped = changes.ChangedRow{Action: "remove_group", Group: g.Group, Count: done.Count, IDs: done.IDs, Unread: done.Unread}
	dropped.Did = fmt.Sprintf("Removed group %s, dropped %s.", show.Plain(g.Group), show.Things(int64(done.Count), "record")) + neverSent(done.Unread)
	return dropped.Print(d)
}

// neverSent is a sentence about the messages that a group has not read and will never send.
func neverSent(unread int64) string {
	if unread == 0 {
		return ""
	}
	return fmt.Sprintf(" It has not read %s, and never sends them.", show.Things(unread, "message"))
}

// GroupsTopics is groups set-topics.
type GroupsTopics struct {
	command.Changing

	Group string   `arg:"" predictor:"group"`
	Topic []string `help:"Topics that the group reads; repeat it. Defaults to all." placeholder:"PATTERN" sep:"none" predictor:"topic"`
}

// Run sets the topics.
func (g *GroupsTopics) Run(d *command.Deps) error {
	manager, group, by, err := (&GroupsMaxLag{Changing: g.Changing, Group: g.Group}).find(d)
	if err != nil {
		return err
	}
	request := admin.GroupRequest{By: by, Group: g.Group, Topics: g.Topic, DryRun: true}
	would, err := manager.SetTopics(d.Context, request)
	if err != nil {
		return err
	}
	after := group
	after.Topics = g.Topic
	row := changes.ChangedRow{Action: "set_topics", Group: g.Group, DryRun: true, Unread: would.Unread}
	what := "topics of group " + show.Plain(g.Group) + ": " + show.Plain(newGroupRow(group).topics()) + " → " + show.Plain(newGroupRow(after).topics()) + "."
	row.Would = "Would set " + what + neverSent(would.Unread)
	if g.DryRun {
		return row.Print(d)
	}
	if err := d.Confirm(g.Changing, ask.Question{Text: row.Would, Name: g.Group}); err != nil {
		return err
	}
	request.DryRun = false
	done, err := manager.SetTopics(d.Context, request)
	if err != nil {
		return err
	}
	row.DryRun, row.Unread, row.Did = false, done.Unread, "Set "+what+neverSent(done.Unread)
	return row.Print(d)
}

// GroupsRename is groups rename.
type GroupsRename struct {
	command.Changing

	Group string `arg:"" predictor:"group"`
	Name  string `arg:"" help:"New name, for the configuration of its relays, too."`
}

// Run renames the group.
func (g *GroupsRename) Run(d *command.Deps) error {
	manager, _, by, err := (&GroupsMaxLag{Changing: g.Changing, Group: g.Group}).find(d)
	if err != nil {
		return err
	}
	request := admin.GroupRequest{By: by, Group: g.Group, Name: g.Name, DryRun: true}
	would, err := manager.RenameGroup(d.Context, request)
	if err != nil {
		return err
	}
	what := func(c admin.Changed) string {
		return fmt.Sprintf("group %s to %s, with its position, %s and %s that wait.",
			show.Plain(g.Group), show.Plain(g.Name), show.Things(int64(c.Count), "record"), show.Things(c.Unread, "message"))
	}
	row := changes.ChangedRow{Action: "rename_group", Group: g.Group, DryRun: true, Count: would.Count, Unread: would.Unread}
	row.Would = "Would rename " + what(would)
	if g.DryRun {
		return row.Print(d)
	}
	if err := d.Confirm(g.Changing, ask.Question{Text: row.Would, Name: g.Group}); err != nil {
		return err
	}
	request.DryRun = false
	done, err := manager.RenameGroup(d.Context, request)
	if err != nil {
		return err
	}
	row.DryRun, row.Count, row.Unread, row.Did = false, done.Count, done.Unread, "Renamed "+what(done)
	return row.Print(d)
}
