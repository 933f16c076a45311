package command

import (
	"cmp"

	"github.com/leat-go/leat/cmd/leat/internal/progress"
	"github.com/leat-go/leat/outbox/admin"
)

// Scan is the progress of a walk through the log. It counts numbers of the log, since the number of
// matching messages is not known.
type Scan struct {
	bar         *progress.Bar
	first, last int64
}

// NewScan begins a walk that ends at the message that is the newest one now.
func NewScan(d *Deps, searcher admin.Manager, name string) (*Scan, error) {
	page, err := searcher.Search(d.Context, admin.MessageQuery{Newest: true, OmitPayload: true, Limit: 1, Scan: 1})
	if err != nil {
		return nil, err
	}
	s := &Scan{bar: d.Bar(name, "numbers of the log", 0)}
	if len(page.Records) > 0 {
		s.last = page.Records[0].Seq
	}
	return s, nil
}

// At shows that the walk has reached a number.
func (s *Scan) At(seq int64) {
	s.first = cmp.Or(s.first, seq)
	s.bar.Total = max(s.last-s.first, 0)
	s.bar.Set(min(seq-s.first, s.bar.Total))
}

// End removes what was shown.
func (s *Scan) End() { s.bar.End() }
