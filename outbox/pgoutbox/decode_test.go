package pgoutbox

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
)

// TestDecoder_BinaryForm compares the decoder with pgx for every binary form. It also checks that values
// of a wrong length are refused and that no two records share memory that one of them may write to.
func TestDecoder_BinaryForm(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	encode := func(oid uint32, value any) []byte {
		b, err := types.Encode(oid, pgtype.BinaryFormatCode, value, nil)
		require.NoError(t, err)
		return b
	}
	created := time.Date(2026, 11, 21, 1, 2, 3, 456_789_000, time.UTC)
	occurred := time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	id := uuid.MustParse("019310a0-1234-7abc-8def-0123456789ab")
	row := func() [][]byte {
		return [][]byte{
			encode(pgtype.Int8OID, int64(1)<<40), encode(pgtype.TimestamptzOID, created), encode(pgtype.TimestamptzOID, occurred),
			encode(pgtype.UUIDOID, id), encode(pgtype.Int2OID, int16(63)), nil,
			[]byte("orders"), []byte("ключ"), []byte("Placed"), []byte("\x00\xff"), []byte(`{"a": "b"}`),
		}
	}
	want := outbox.Record{
		Message: outbox.Message{
			ID: id.String(), Topic: "orders", Key: "ключ", Type: "Placed", Payload: []byte("\x00\xff"),
			Headers: map[string]string{"a": "b"}, OccurredAt: occurred,
		},
		Seq: 1 << 40, Shard: 63, CreatedAt: created,
	}

	var d decoder
	require.NoError(t, d.binary(row()))
	bare := row()
	bare[colOccurredAt], bare[colKey], bare[colType], bare[colHeaders] = nil, nil, nil, nil
	bare[colIDText], bare[colPayload] = []byte(strings.Repeat("long", textBytes)), make([]byte, slabBytes)
	require.NoError(t, d.binary(bare))
	require.Equal(t, want, d.records[0])
	require.Equal(t, outbox.Message{
		ID: strings.Repeat("long", textBytes), Topic: "orders", Payload: make([]byte, slabBytes),
	}, d.records[1].Message)

	for column, wrong := range map[int][]byte{colSeq: nil, colCreatedAt: {1}, colOccurredAt: {1}, colID: {1}, colShard: {1}} {
		broken := row()
		broken[column] = wrong
		require.ErrorIs(t, d.binary(broken), errRowForm)
	}
	require.Len(t, d.records, 2)

	for range 2 * slabBytes / 1000 {
		full := row()
		full[colPayload] = make([]byte, 1000)
		require.NoError(t, d.binary(full))
	}
	first := append(d.records[2].Payload, 1) //nolint:gocritic // that is the question
	require.NotEmpty(t, first)
	require.Equal(t, make([]byte, 1000), d.records[3].Payload, "an append must not write into the next")
	require.Equal(t, want, d.records[0])
}

// TestDecoder_UsesMemoryAgain: memory that was given back holds the next page; memory that was not stays
// intact. A page that is not full, which means there is no backlog, releases all of it.
func TestDecoder_UsesMemoryAgain(t *testing.T) {
	t.Parallel()
	failpointtest.Install()       // what is given back is overwritten
	const limit, size = 1000, 600 // more than two slabs a page
	var d decoder
	seq := 0
	read := func(n, expect int) ([]outbox.Record, func()) {
		d.size = limit * size
		d.begin(limit, expect)
		for range n {
			seq++
			payload := bytes.Repeat([]byte{byte(seq)}, size)
			d.records = append(d.records, outbox.Record{Seq: int64(seq), Message: outbox.Message{Payload: d.keep(payload)}})
		}
		return d.end(n == limit), d.free()
	}
	intact := func(page []outbox.Record) {
		t.Helper()
		for i := range page {
			require.Equal(t, bytes.Repeat([]byte{byte(page[i].Seq)}, size), page[i].Payload)
		}
	}
	first, free := read(limit, limit)
	second, _ := read(limit, limit)
	free()
	require.Equal(t, "freed", first[0].ID)
	require.Equal(t, byte(0xdb), d.stock.free[0].slabs[0][:1][0])
	third, freeThird := read(limit, limit)
	require.Same(t, &first[0], &third[0])
	few, none := read(5, 10)
	require.Nil(t, none)
	for _, page := range [][]outbox.Record{second, third, few} {
		intact(page)
	}
	freeThird()
	fourth, free := read(limit, limit)
	require.Same(t, &first[0], &fourth[0])
	intact(few)
	intact(fourth)
	free()
	require.Len(t, d.stock.free, 1)
	_, none = read(1, limit)
	require.Nil(t, none)
	require.Empty(t, d.stock.free)
}

// TestDecoder_SmallPagesShareMemory: full pages with few bytes share a slab, as pages do that are not
// full.
func TestDecoder_SmallPagesShareMemory(t *testing.T) {
	t.Parallel()
	var d decoder
	var slab *byte
	for range 10 {
		d.begin(1, 8)
		payload := d.keep([]byte("payload"))
		d.size += len(payload)
		d.records = append(d.records, outbox.Record{})
		d.end(true)
		require.Nil(t, d.free())
		if slab == nil {
			slab = &d.bytes[0]
		}
		require.Same(t, slab, &d.bytes[0])
	}
}

// TestStock_IsBounded: the stock keeps neither the memory of an unusually large page nor that of many
// pages.
func TestStock_IsBounded(t *testing.T) {
	t.Parallel()
	var s stock
	large := memory{records: make([]outbox.Record, 1), slabs: make([][]byte, mostFreeSlabs+1)}
	for range mostFree + 1 {
		s.put(large)
	}
	require.Len(t, s.free, mostFree)
	require.Len(t, s.take().slabs, mostFreeSlabs)
}
