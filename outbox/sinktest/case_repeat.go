package sinktest

import (
	"context"
	"slices"
	"strconv"
)

func repeatChecks() []Check {
	return []Check{
		{Name: "O2_OneIDForManyRecords", run: oneIDForMany},
		{Name: "O2_ReplaysArrive", run: replaysArrive},
	}
}

// oneIDForMany delivers different records with one id: on both topics, and two on each. A
// destination that drops repeats must not take one for a repeat of another.
func oneIDForMany(ctx context.Context, tr *trial) {
	s := tr.sink()
	page := tr.records(tr.Topics()[0], 12, 3)
	for i := range page {
		first := page[i-i%4]
		page[i].Message, page[i].Topic = first.Message, tr.Topics()[i%2]
	}
	tr.deliver(ctx, s, page)
	tr.once(ctx, len(page))
}

// replaysArrive delivers records and replays them twice, through the same sink and another one.
// Each time the destination must get one more copy of each.
func replaysArrive(ctx context.Context, tr *trial) {
	page := tr.records(tr.Topics()[0], 12, 3)
	tr.deliver(ctx, tr.sink(), page)
	tr.once(ctx, len(page))
	s := tr.sink()
	for n := range 2 {
		again := slices.Clone(page)
		for i := range again {
			again[i].Replay = strconv.Itoa(n + 1)
		}
		tr.deliver(ctx, s, again)
		tr.once(ctx, (n+2)*len(page))
	}
}
