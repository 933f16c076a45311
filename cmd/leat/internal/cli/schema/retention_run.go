package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// RetentionRun is retention run. It takes no reason, since it deletes only what the services' retention
// allows.
type RetentionRun struct {
	Retention string       `required:"" placeholder:"DURATION" help:"How long messages are kept, as in your services, such as 168h; or forever."`
	MaxBytes  command.Size `placeholder:"SIZE" help:"Bound of the log, such as 20GiB. Defaults to none."`

	PartitionSize  int64 `default:"10000000" placeholder:"N" help:"Sequence numbers of a new range, as in your services."`
	Ahead          int   `default:"2" placeholder:"N" help:"Empty ranges kept ahead, 1 to 100, as in your services."`
	NoDDL          bool  `name:"no-ddl" help:"Delete in chunks instead of dropping ranges, if your services do."`
	WithoutArchive bool  `help:"Archive nothing, even if your services do. Required without --dry-run."`

	DryRun bool `help:"Show what would change; change nothing."`
	Yes    bool `short:"y" help:"Do not ask. Required without a terminal."`
}

// maintenanceRow is the JSON of a round of maintenance.
type maintenanceRow struct {
	DryRun bool `json:"dry_run"`
	// Exempt are the groups past their greatest lag. They do not keep messages from deletion.
	Exempt      []string `json:"exempt"`
	Added       []string `json:"added"`
	Closed      []string `json:"closed"`
	Dropped     []string `json:"dropped"`
	Deleted     int64    `json:"deleted"`
	PrunedAudit int64    `json:"pruned_audit"`
	PrunedDead  int64    `json:"pruned_dead"`
	Promoted    int64    `json:"promoted"`
	Busy        bool     `json:"busy"`
	Alarms      []string `json:"alarms"`
}

// Run runs the round.
func (r *RetentionRun) Run(d *command.Deps) error {
	retention, err := r.retention()
	if err != nil {
		return err
	}
	db, err := d.Open()
	maintainer, err := command.Capable[open.Maintainer](d, db, err, "be maintained by rounds")
	if err != nil {
		return err
	}
	store, err := db.Outbox()
	if err != nil {
		return err
	}
	exempt, groups, err := exemptGroups(d, store)
	if err != nil {
		return err
	}
	if r.DryRun {
		return r.look(d, store, retention, exempt, groups)
	}
	if !r.WithoutArchive {
		return command.UsageError{Err: errors.New("--without-archive: must be given, since this command archives nothing, even if your services do before they drop: without it, only --dry-run")}
	}
	if err := d.Confirm(command.Changing{Yes: r.Yes}, ask.Question{Text: r.question(exempt)}); err != nil {
		return err
	}
	var done admin.MaintenanceReport
	err = d.Bar("maintaining", "", 0).Spin(func() (err error) {
		done, err = maintainer.Maintain(d.Context, open.MaintenanceRequest{
			Retention: retention, MaxBytes: int64(r.MaxBytes), PartitionSize: r.PartitionSize, Ahead: r.Ahead, NoDDL: r.NoDDL,
		})
		return err
	})
	return finishRound(d, exempt, done, err)
}

// finishRound prints what a round has done, even if it has failed in the end.
func finishRound(d *command.Deps, exempt []string, done admin.MaintenanceReport, err error) error {
	row := maintenanceRow{
		Exempt: exempt, Added: append([]string{}, done.Added...), Closed: append([]string{}, done.Closed...), Dropped: append([]string{}, done.Dropped...), Deleted: done.Deleted,
		PrunedAudit: done.PrunedAudit, PrunedDead: done.PrunedDead, Promoted: done.Promoted, Busy: done.Busy, Alarms: []string{},
	}
	for _, alarm := range done.Alarms {
		row.Alarms = append(row.Alarms, strings.TrimSpace(fmt.Sprintf("%s %s %s", alarm.Kind, alarm.Group, alarm.Detail)))
	}
	for _, group := range done.PinnedBy {
		row.Alarms = append(row.Alarms, fmt.Sprintf("group %s has not settled what is old enough to go", group))
	}
	changed := len(row.Added)+len(row.Closed)+len(row.Dropped)+len(row.Alarms) > 0 || row.Deleted+row.PrunedAudit+row.PrunedDead+row.Promoted > 0
	if err != nil && !changed {
		return err
	}
	if err == nil && row.Busy {
		err = command.ErrBusy
	}
	return errors.Join(row.print(d), err)
}

func (r *RetentionRun) question(exempt []string) string {
	what := "drops ranges"
	if r.NoDDL {
		what = "deletes messages"
	}
	text := fmt.Sprintf("Would do one round of maintenance, which %s that are older than %s", what, r.Retention)
	if r.MaxBytes > 0 {
		text += fmt.Sprintf(", or beyond %s,", show.Bytes(int64(r.MaxBytes)))
	}
	text += " and that no group holds back, and archives nothing."
	if len(exempt) > 0 {
		text += " Past their greatest lag, and so losing what they have not sent: " + show.Plain(strings.Join(exempt, ", ")) + "."
	}
	return text
}

// exemptGroups returns the groups that are past their greatest lag, and the number of all groups. Messages
// of exempt groups are deleted even if they were not sent.
func exemptGroups(d *command.Deps, store admin.Outbox) (exempt []string, groups int, err error) {
	all, err := store.Groups(d.Context)
	if err != nil {
		return nil, 0, err
	}
	stats, err := store.Stats(d.Context)
	if err != nil {
		return nil, 0, err
	}
	exempt = []string{}
	for _, g := range all {
		for _, s := range stats.Groups {
			past := func(slot admin.SlotStats) bool { return slot.Problem == "" && slot.Lag > g.MaxLag }
			if s.Name == g.Name && g.MaxLag > 0 && slices.ContainsFunc(s.Slots, past) {
				exempt = append(exempt, g.Name)
			}
		}
	}
	return exempt, len(all), nil
}

func (r *RetentionRun) retention() (time.Duration, error) {
	if r.Retention == "forever" {
		return -1, nil
	}
	age, err := settings.ParseSpan(r.Retention)
	if err != nil || age <= 0 {
		return 0, command.Usage("--retention", r.Retention, "must be a duration such as 168h or 7d, or forever")
	}
	return age, nil
}

// look finds the ranges that no group keeps, and whose newest message is older than retention.
func (r *RetentionRun) look(d *command.Deps, store admin.Outbox, retention time.Duration, exempt []string, groups int) error {
	switch {
	case r.MaxBytes > 0:
		return command.Usage("--max-bytes", strconv.FormatInt(int64(r.MaxBytes), 10), "goes not with --dry-run, which tells by age only")
	case r.NoDDL:
		return command.Usage("--no-ddl", "true", "goes not with --dry-run, which tells by ranges only")
	}
	lister, err := command.Capable[admin.RangeLister](d, store, nil, "list ranges: its log has none")
	if err != nil {
		return err
	}
	searcher, err := command.Capable[admin.Manager](d, store, nil, "search its log")
	if err != nil {
		return err
	}
	ranges, err := lister.Ranges(d.Context)
	if err != nil {
		return err
	}
	row := maintenanceRow{DryRun: true, Exempt: exempt, Added: []string{}, Closed: []string{}, Dropped: []string{}, Alarms: []string{}}
	for _, one := range ranges {
		pins := func(group string) bool { return !slices.Contains(exempt, group) }
		// Without a group nothing was read, and nothing is deleted.
		if one.Open() || slices.ContainsFunc(one.PinnedBy, pins) || retention < 0 || groups == 0 {
			continue
		}
		newest, err := newestOf(d, searcher, one)
		if err != nil {
			return err
		}
		if !newest.IsZero() && d.Now().Sub(newest) > retention {
			row.Dropped = append(row.Dropped, one.Table)
		}
	}
	return row.print(d)
}

// newestOf returns when the newest message of a range was enqueued. It is zero for an empty range.
func newestOf(d *command.Deps, searcher admin.Manager, r admin.Range) (time.Time, error) {
	page, err := searcher.Search(d.Context, admin.MessageQuery{After: r.To, Newest: true, OmitPayload: true, Limit: 1, Scan: 1})
	if err != nil || len(page.Records) == 0 || page.Records[0].Seq < r.From {
		return time.Time{}, err
	}
	return page.Records[0].CreatedAt, nil
}

func (m maintenanceRow) print(d *command.Deps) error {
	if d.Format != show.Table {
		return d.Document(m)
	}
	or := func(tables []string) string { return show.Plain(strings.Join(tables, ", ")) }
	if m.DryRun {
		if len(m.Exempt) > 0 {
			d.Note("Past their greatest lag, and so losing what they have not sent: %s.", or(m.Exempt))
		}
		return d.Paragraph("Would drop: %s", or(m.Dropped))
	}
	facts := []show.Fact{
		{Name: "added", Value: or(m.Added)},
		{Name: "closed", Value: or(m.Closed)},
		{Name: "dropped", Value: or(m.Dropped)},
		{Name: "deleted", Value: show.Count(m.Deleted)},
		{Name: "promoted", Value: show.Count(m.Promoted)},
	}
	if m.Busy {
		facts = append(facts, show.Fact{Name: "busy", Value: "producers held the log: try again"})
	}
	for _, alarm := range m.Alarms {
		facts = append(facts, show.Fact{Name: "alarm", Value: show.Plain(alarm)})
	}
	return d.Object(m, facts...)
}
