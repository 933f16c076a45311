package sinktest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
)

func contentChecks() []Check {
	return []Check{
		{Name: "O4_BodiesArriveBitByBit", run: bodiesArrive},
		{Name: "O4_TypesAndTimesArrive", run: timesArrive},
		{Name: "O4_PlainHeadersArrive", run: plainHeadersArrive},
		{Name: "O4_OddHeadersArrive", run: oddHeadersArrive, skip: plainHeaders},
		{Name: "O4_KeysArrive", run: keysArrive, skip: plainHeaders},
		{Name: "O4_LongIDsArrive", run: longIDsArrive},
	}
}

func plainHeaders(f Features) bool { return f.PlainHeaders }

// each delivers records of one topic, each changed by one of edits.
func (tr *trial) each(ctx context.Context, edits ...func(r *outbox.Record)) {
	s := tr.sink()
	page := tr.records(tr.Topics()[0], len(edits), 3)
	for i, edit := range edits {
		edit(&page[i])
	}
	tr.deliver(ctx, s, page)
}

func bodiesArrive(ctx context.Context, tr *trial) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	bodies := [][]byte{nil, {}, {0}, []byte("null"), []byte("\r\n\r\n"), all, []byte("\xff\xfe\x00"), []byte(strings.Repeat("0123456789abcdef", 16<<10))}
	edits := make([]func(*outbox.Record), len(bodies))
	for i, body := range bodies {
		edits[i] = func(r *outbox.Record) { r.Payload = body }
	}
	tr.each(ctx, edits...)
}

func timesArrive(ctx context.Context, tr *trial) {
	tr.each(ctx,
		func(r *outbox.Record) { r.Type = "" },
		func(r *outbox.Record) { r.Type = strings.Repeat("T", outbox.MaxTypeBytes) },
		func(r *outbox.Record) { r.OccurredAt = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) },
		func(r *outbox.Record) { r.OccurredAt = time.Date(1969, 7, 20, 20, 17, 40, 1000, time.UTC) },
		func(r *outbox.Record) { r.OccurredAt = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC) },
	)
}

func plainHeadersArrive(ctx context.Context, tr *trial) {
	many := make(map[string]string)
	for i := range 100 {
		many[fmt.Sprintf("h-%d", i)] = strconv.Itoa(i)
	}
	tr.each(ctx,
		func(r *outbox.Record) { r.Headers = nil },
		func(r *outbox.Record) { r.Headers = map[string]string{} },
		func(r *outbox.Record) {
			r.Headers = map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
		},
		func(r *outbox.Record) { r.Headers = many },
	)
}

func oddHeadersArrive(ctx context.Context, tr *trial) {
	var edits []func(*outbox.Record)
	for name, value := range map[string]string{
		"empty":                  "",
		"Upper-and lower":        "x",
		"ключ":                   "значение ✓",
		"a:b\r\nc":               "line one\r\nline two: \x7f\x01",
		"content-type":           "text/x; y=1",
		"message-id":             "m",
		"x-death":                "none",
		"long":                   strings.Repeat("v", 20_000),
		strings.Repeat("n", 200): " spaces around ",
	} {
		edits = append(edits, func(r *outbox.Record) { r.Headers = map[string]string{name: value} })
	}
	tr.each(ctx, edits...)
}

func keysArrive(ctx context.Context, tr *trial) {
	var edits []func(*outbox.Record)
	for _, key := range []string{"", " ", "*.#", "ключ ✓", "a\r\nb\x01", strings.Repeat("k", 256), strings.Repeat("é", outbox.MaxKeyBytes/2)} {
		edits = append(edits, func(r *outbox.Record) { r.Key = key })
	}
	tr.each(ctx, edits...)
}

func longIDsArrive(ctx context.Context, tr *trial) {
	var edits []func(*outbox.Record)
	for _, n := range []int{255, 256, outbox.MaxIDBytes} {
		edits = append(edits, func(r *outbox.Record) { r.ID = strings.Repeat("i", n) })
	}
	tr.each(ctx, edits...)
}
