package pgoutbox

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// benchOutbox returns an outbox that already knows its database, so that it need not ask.
func benchOutbox(b *testing.B, cfg Config) *Outbox {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	ob, err := New(pool, cfg)
	require.NoError(b, err)
	ob.instance = "instance"
	return ob
}

// benchMessages returns n messages of 512 bytes, each with a key of its own.
func benchMessages(n int, headers map[string]string) []outbox.Message {
	msgs := make([]outbox.Message, n)
	for i := range msgs {
		msgs[i] = outbox.Message{
			ID: fmt.Sprintf("0190163d-8694-739b-aea5-%012x", i), Topic: "orders", Key: fmt.Sprintf("customer-%08d", i),
			Type: "OrderPlaced", Payload: make([]byte, 512), Headers: headers,
		}
	}
	return msgs
}

func benchHeaders() map[string]string {
	return map[string]string{
		"content-type": "application/json", "tenant": "acme", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
}

// BenchmarkStatement builds the INSERT of one message, and of a hundred, without running it: the work of
// Enqueue outside the database.
func BenchmarkStatement(b *testing.B) {
	for _, bench := range []struct {
		name    string
		cfg     Config
		headers map[string]string
	}{
		{"plain", Config{}, nil},
		{"headers", Config{}, benchHeaders()},
		{"unordered", Config{UnorderedKeys: true}, nil},
	} {
		for _, n := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/messages=%d", bench.name, n), func(b *testing.B) {
				ob := benchOutbox(b, bench.cfg)
				msgs := benchMessages(n, bench.headers)
				b.ReportAllocs()
				for b.Loop() {
					if err := ob.QueueEnqueue(b.Context(), &pgx.Batch{}, msgs...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkEncode encodes the parameters of one INSERT the way pgx sends them.
func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			args := benchArgs(b, n)
			oids := benchOIDs(n)
			require.Len(b, args, len(oids))
			types, prepared := pgtype.NewMap(), &pgconn.StatementDescription{ParamOIDs: oids}
			b.ReportAllocs()
			for b.Loop() {
				var query pgx.ExtendedQueryBuilder
				if err := query.Build(types, prepared, args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchArgs returns the parameters of enqueue.sql, or of enqueue_one.sql.
func benchArgs(b *testing.B, n int) (args []any) {
	b.Helper()
	err := benchOutbox(b, Config{}).insert(b.Context(), benchMessages(n, benchHeaders()), nil,
		func([]int64) error { return nil },
		func(_ string, a []any, rows int64) (int64, error) {
			args = a
			return rows, nil
		})
	require.NoError(b, err)
	return args
}

// benchOIDs returns the types of these parameters.
func benchOIDs(n int) []uint32 {
	if n == 1 {
		return []uint32{
			pgtype.Int8ArrayOID, pgtype.Int2OID, pgtype.UUIDOID, pgtype.TextOID, pgtype.TextOID, pgtype.TextOID,
			pgtype.TextOID, pgtype.ByteaOID, pgtype.JSONBOID, pgtype.TimestamptzOID,
		}
	}
	return []uint32{
		pgtype.Int8ArrayOID, pgtype.Int8OID, pgtype.TextOID, pgtype.Int2ArrayOID, pgtype.UUIDArrayOID, pgtype.TextArrayOID,
		pgtype.TextArrayOID, pgtype.TextArrayOID, pgtype.TextArrayOID, pgtype.ByteaArrayOID, pgtype.JSONBArrayOID, pgtype.TimestamptzArrayOID,
	}
}
