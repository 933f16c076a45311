package replay

import (
	"slices"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// count counts the records to send by searching the log. A replay that had begun would be in the audit.
func (r *Replay) count(d *command.Deps, saved savedReplay) error {
	store, err := d.StoreWith(r.Group, false)
	searcher, err := command.Capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	const most = 10_000
	query := admin.MessageQuery{From: r.From.Time, To: r.To.Time, OmitPayload: true, Limit: most, After: saved.LastSeq}
	walk, err := command.NewScan(d, searcher, "counting")
	if err != nil {
		return err
	}
	defer walk.End()
	report := relay.ReplayReport{Done: true}
	for {
		page, err := searcher.Search(d.Context, query)
		if err != nil {
			return err
		}
		for _, record := range page.Records {
			if r.wants(record) {
				report.Sent++
				report.LastSeq = record.Seq
			}
		}
		if page.Next == 0 {
			walk.End()
			return printReplay(d, report, true)
		}
		walk.At(page.Next)
		query.After = page.Next
	}
}

// wants reports whether the replay would send record.
func (r *Replay) wants(record outbox.Record) bool {
	in := func(all []string, one string) bool { return len(all) == 0 || slices.Contains(all, one) }
	return in(r.Key, record.Key) && in(r.ID, record.ID) && topics.MatchAny(r.Topic, record.Topic)
}
