package metrics

import (
	"sync"

	"github.com/leat-go/leat/internal/storable"
)

// bound lets a label have so many values, and no more. It is safe for concurrent use.
type bound struct {
	limit int

	mu   sync.Mutex
	seen map[string]struct{}
}

func newBound(limit int) *bound { return &bound{limit: limit, seen: map[string]struct{}{}} }

// fit returns v as the value of a label: fit to be shown, at most 255 bytes, and Other if
// there are too many.
func (b *bound) fit(v string) string {
	v = storable.AtMost(v, 255)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.seen[v]; ok {
		return v
	}
	if len(b.seen) >= b.limit {
		return Other
	}
	b.seen[v] = struct{}{}
	return v
}
