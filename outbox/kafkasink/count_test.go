package kafkasink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/race"
)

// TestCount_Allocations: the Kafka form of a page of 5,000 records is made in the memory of
// the page before it. It guards that memory: headers or numbers that are written anew for each
// record make an allocation a record or more.
//
//leat:level 0
func TestCount_Allocations(t *testing.T) { //nolint:paralleltest // others would count, too
	if race.Enabled {
		t.Skip("the race detector allocates: make counts")
	}
	headers := map[string]string{"content-type": "application/json", "tenant": "acme"}
	for name, c := range map[string]struct {
		format  Format
		headers map[string]string
		most    float64 // a page
	}{
		"leat":             {FormatLeat, headers, 1},
		"leat, no headers": {FormatLeat, nil, 1},
		"watermill":        {FormatWatermill, headers, 1},
	} {
		records := benchPage(c.headers)
		p := page{format: c.format}
		fill := func() {
			p.reset(benchSize)
			for i := range records {
				require.True(t, fits(p.add(i, &records[i]), 1<<20))
			}
			p.release()
		}
		fill()
		allocations := testing.AllocsPerRun(10, fill)
		t.Logf("%s: %.1f allocations a page", name, allocations)
		require.LessOrEqual(t, allocations, c.most, name)
	}
}
