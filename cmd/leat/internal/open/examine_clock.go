package open

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

// clock asks a database for its time three times, and compares the answer of the shortest round trip with
// this host's clock.
func clock(ctx context.Context, ask func(ctx context.Context) (time.Time, error)) ([]doctor.Finding, error) {
	best, offset := time.Duration(-1), time.Duration(0)
	for range 3 {
		began := time.Now()
		theirs, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		if took := time.Since(began); best < 0 || took < best {
			best, offset = took, began.Add(took/2).Sub(theirs)
		}
	}
	switch verdict := doctor.Clock(offset, best); verdict {
	case doctor.OK:
		return nil, nil
	case doctor.Unknown:
		return []doctor.Finding{{
			Verdict: verdict, Text: fmt.Sprintf("a round trip takes %s, too long to compare clocks by", best.Round(time.Millisecond)),
			Advice: "run leat nearer to the database",
		}}, nil
	default:
		return []doctor.Finding{{Verdict: verdict, Text: fmt.Sprintf("this host is %s ahead of the database", offset.Round(time.Millisecond)), Advice: "see to NTP on both"}}, nil
	}
}
