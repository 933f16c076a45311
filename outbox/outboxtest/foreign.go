package outboxtest

import (
	"context"
	"slices"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// ForeignWriter is implemented by a Subject whose rows can be written without the library:
// by statements in other languages, or by hand.
type ForeignWriter interface {
	// WriteForeign commits rows without a key that Enqueue would not have written, such as with
	// headers that are not an object of texts, each as wrong as the database permits. It returns
	// their payloads, which differ, in the order of their numbers.
	WriteForeign(ctx context.Context) (payloads []string, err error)
}

// foreignRowsAreRecords has foreign rows among those of Enqueue. Each is returned with its
// payload, can be set aside as it is, and holds up nothing behind it.
func foreignRowsAreRecords(ctx context.Context, tr *trial) {
	writer, ok := tr.Subject.(ForeignWriter)
	if !ok {
		return
	}
	tr.commit(ctx, named("before")...)
	rows, err := writer.WriteForeign(ctx)
	fail.If(err, "write rows that Enqueue would not have written")
	tr.commit(ctx, named("after")...)
	all := slices.Concat([]string{"before"}, rows, []string{"after"})
	if tr.features.NoHolder {
		tr.acquire(ctx).expectDrain(ctx, len(all)+1, all...)
		return
	}
	s := tr.holder(ctx)
	fates := make(map[string]driver.Holding, len(rows))
	for _, name := range rows {
		fates[name] = driver.Holding{Fate: driver.FatePark, Attempts: failed(1)}
	}
	var got []outbox.Record
	for p := s.reader.page(ctx, len(all)); len(p.Records) > 0; p = s.reader.page(ctx, len(all)) {
		got = append(got, p.Records...)
		fail.If(s.Hold(ctx, p, len(p.Records), holdings(p, fates)), "hold")
	}
	expect(got, all...)
	s.expectParked(ctx, rows...)
}
