package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Retention are the commands about what the log retains.
type Retention struct {
	Ranges RetentionRanges `cmd:"" help:"Ranges of the log, and the groups that hold each back."`
	Run    RetentionRun    `cmd:"" help:"Do one round of maintenance: drop what is old, make ranges ahead."`
}

// rangeRow is the JSON of a range.
type rangeRow struct {
	Table    string   `json:"table"`
	FromSeq  int64    `json:"from_seq"`
	ToSeq    int64    `json:"to_seq,omitempty"`
	Bytes    int64    `json:"bytes"`
	PinnedBy []string `json:"pinned_by"`
}

func newRangeRow(r admin.RangeState) rangeRow {
	row := rangeRow{Table: r.Table, FromSeq: r.From, ToSeq: r.To, Bytes: r.Bytes, PinnedBy: append([]string{}, r.PinnedBy...)}
	if r.Open() {
		row.ToSeq = 0
	}
	return row
}

// RetentionRanges is retention ranges.
type RetentionRanges struct{}

// Run lists the ranges.
func (*RetentionRanges) Run(d *Deps) error {
	store, err := d.Store("")
	lister, err := capable[admin.RangeLister](store, err, "list ranges: its log has none")
	if err != nil {
		return err
	}
	ranges, err := lister.Ranges(d.Context)
	if err != nil {
		return err
	}
	list := show.List[rangeRow]{Name: "ranges", Empty: "The log has no range.", Columns: []show.Column[rangeRow]{
		textColumn("TABLE", func(r rangeRow) string { return r.Table }),
		countColumn("FROM", func(r rangeRow) int64 { return r.FromSeq }),
		{Title: "TO", Right: true, Cell: func(_ *show.Printer, r rangeRow) string {
			if r.ToSeq == 0 {
				return "∞"
			}
			return show.Count(r.ToSeq)
		}},
		{Title: "SIZE", Right: true, Cell: func(_ *show.Printer, r rangeRow) string { return show.Bytes(r.Bytes) }},
		textColumn("PINNED BY", func(r rangeRow) string { return strings.Join(r.PinnedBy, ", ") }),
	}}
	return list.Print(d.Printer, rowsOf(ranges, newRangeRow), "")
}

// RetentionRun is retention run. It needs no reason: what goes is what services said.
type RetentionRun struct {
	MaxAge   string `required:"" placeholder:"DURATION" help:"How long messages are kept once all groups are past them, as your services say it, such as 168h; or forever."`
	MaxBytes Size   `placeholder:"SIZE" help:"Bound of the log, such as 20GiB. Defaults to none."`
	DryRun   bool   `help:"Say which ranges are old enough and pinned by nobody, and change nothing."`
	Yes      bool   `short:"y" help:"Do not ask for confirmation. Required if standard input is no terminal."`
}

// maintenanceRow is the JSON of a round.
type maintenanceRow struct {
	DryRun      bool     `json:"dry_run"`
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

// Run does the round.
func (r *RetentionRun) Run(d *Deps) error {
	maxAge, err := r.maxAge()
	if err != nil {
		return err
	}
	db, err := d.Open()
	maintainer, err := capable[open.Maintainer](db, err, "be maintained by rounds")
	if err != nil {
		return err
	}
	if r.DryRun {
		return r.look(d, maxAge)
	}
	question := fmt.Sprintf("Would do one round of maintenance, which drops ranges that all groups are past and that are older than %s.", r.MaxAge)
	if err := d.confirm(Changing{Yes: r.Yes}, ask.Question{Text: question}); err != nil {
		return err
	}
	done, err := maintainer.Maintain(d.Context, open.MaintenanceRequest{MaxAge: maxAge, MaxBytes: int64(r.MaxBytes)})
	if err != nil {
		return err
	}
	tables := func(ranges []admin.Range) []string {
		return rowsOf(ranges, func(r admin.Range) string { return r.Table })
	}
	return maintenanceRow{
		Added: tables(done.Added), Closed: tables(done.Closed), Dropped: tables(done.Dropped), Deleted: done.Deleted,
		PrunedAudit: done.PrunedAudit, PrunedDead: done.PrunedDead, Promoted: done.Promoted, Busy: done.Busy,
		Alarms: append([]string{}, done.Alarms...),
	}.print(d)
}

func (r *RetentionRun) maxAge() (time.Duration, error) {
	if r.MaxAge == "forever" {
		return -1, nil
	}
	age, err := parseSpan(r.MaxAge)
	if err != nil || age <= 0 {
		return 0, usage("--max-age", r.MaxAge, "must be a duration such as 168h or 7d, or forever")
	}
	return age, nil
}

// look finds the ranges that nobody pins and whose newest message is older than maxAge.
func (r *RetentionRun) look(d *Deps, maxAge time.Duration) error {
	if r.MaxBytes > 0 {
		return usage("--max-bytes", strconv.FormatInt(int64(r.MaxBytes), 10), "goes not with --dry-run, which tells by age only")
	}
	store, err := d.Store("")
	lister, err := capable[admin.RangeLister](store, err, "list ranges: its log has none")
	if err != nil {
		return err
	}
	searcher, err := capable[admin.Searcher](store, nil, "search its log")
	if err != nil {
		return err
	}
	ranges, err := lister.Ranges(d.Context)
	if err != nil {
		return err
	}
	row := maintenanceRow{DryRun: true, Added: []string{}, Closed: []string{}, Dropped: []string{}, Alarms: []string{}}
	for _, one := range ranges {
		if one.Open() || len(one.PinnedBy) > 0 || maxAge < 0 {
			continue
		}
		newest, err := newestOf(d, searcher, one.Range)
		if err != nil {
			return err
		}
		if !newest.IsZero() && d.Now().Sub(newest) > maxAge {
			row.Dropped = append(row.Dropped, one.Table)
		}
	}
	return row.print(d)
}

// newestOf is when the newest message of a range was enqueued, zero for an empty range.
func newestOf(d *Deps, searcher admin.Searcher, r admin.Range) (time.Time, error) {
	page, err := searcher.Search(d.Context, admin.MessageQuery{After: r.To, Newest: true, OmitPayload: true, Limit: 1, Scan: 1})
	if err != nil || len(page.Records) == 0 || page.Records[0].Seq < r.From {
		return time.Time{}, err
	}
	return page.Records[0].CreatedAt, nil
}

func (m maintenanceRow) print(d *Deps) error {
	if d.Format != show.Table {
		return d.Document(m)
	}
	or := func(tables []string) string { return show.Plain(strings.Join(tables, ", ")) }
	if m.DryRun {
		return d.Line("Would drop: %s", or(m.Dropped))
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
