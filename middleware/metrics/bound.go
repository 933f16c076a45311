package metrics

import (
	"sync"

	"github.com/leat-go/leat/internal/storable"
)

// bound limits the number of values of a label. It is safe for concurrent use.
type bound struct {
	limit int

	mu   sync.Mutex
	seen map[string]struct{}
}

func newBound(limit int) *bound { return &bound{limit: limit, seen: map[string]struct{}{}} }

// fit returns v as a valid value of a label, of at most 255 bytes, or Other if there are too many
// values.
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
