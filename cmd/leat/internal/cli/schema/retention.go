package schema

import (
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Retention are the commands about the log's retention.
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

func newRangeRow(r admin.Range) rangeRow {
	row := rangeRow{Table: r.Table, FromSeq: r.From, ToSeq: r.To, Bytes: r.Bytes, PinnedBy: append([]string{}, r.PinnedBy...)}
	if r.Open() {
		row.ToSeq = 0
	}
	return row
}

// RetentionRanges is retention ranges.
type RetentionRanges struct{}

// Run lists the ranges.
func (*RetentionRanges) Run(d *command.Deps) error {
	store, err := d.Store("")
	lister, err := command.Capable[admin.RangeLister](d, store, err, "list ranges: its log has none")
	if err != nil {
		return err
	}
	ranges, err := lister.Ranges(d.Context)
	if err != nil {
		return err
	}
	list := show.List[rangeRow]{Name: "ranges", Empty: "The log has no range.", Columns: []show.Column[rangeRow]{
		command.TextColumn("TABLE", func(r rangeRow) string { return r.Table }),
		command.CountColumn("FROM", func(r rangeRow) int64 { return r.FromSeq }),
		{Title: "TO", Right: true, Cell: func(_ *show.Printer, r rangeRow) string {
			if r.ToSeq == 0 {
				return "∞"
			}
			return show.Count(r.ToSeq)
		}},
		{Title: "SIZE", Right: true, Cell: func(_ *show.Printer, r rangeRow) string { return show.Bytes(r.Bytes) }},
		command.TextColumn("PINNED BY", func(r rangeRow) string { return strings.Join(r.PinnedBy, ", ") }),
	}}
	return list.Print(d.Printer, command.RowsOf(ranges, newRangeRow), "")
}
