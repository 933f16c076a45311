package pgwal

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/clocks"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is a Handler that writes down what it is told.
type heard struct{ log []string }

func (h *heard) Relation(_ uint32, schema, table string, columns []string) error {
	h.log = append(h.log, schema+"."+table+"("+strings.Join(columns, ",")+")")
	return nil
}

func (h *heard) Insert(_ uint32, values []Value) error {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v.Form) + string(v.Data)
	}
	h.log = append(h.log, strings.Join(texts, ","))
	return nil
}

func (h *heard) Commit() error {
	h.log = append(h.log, "commit")
	return nil
}

// Messages of a transaction, as pgoutput writes them.
func begin(committed uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{'B'}, 77)
	return append(binary.BigEndian.AppendUint64(b, committed), 0, 0, 0, 9)
}

func relation() []byte {
	b := append([]byte{'R', 0, 0, 0, 5}, "leat\x00outbox\x00d"...)
	b = append(b, 0, 2)
	for _, column := range []string{"xid", "seq"} {
		b = append(append(b, 0), column+"\x00"...)
		b = append(b, 0, 0, 0, 20, 0xff, 0xff, 0xff, 0xff)
	}
	return b
}

func insert() []byte {
	return append([]byte{'I', 0, 0, 0, 5, 'N', 0, 2}, "b\x00\x00\x00\x02hin"...)
}

func commit() []byte { return slices.Concat([]byte{'C', 0}, make([]byte, 24)) }

func TestDecoder(t *testing.T) {
	t.Parallel()
	h := &heard{}
	d := decoder{handler: h}
	for _, message := range [][]byte{begin(1000), relation(), insert(), {'Y', 1}, {'O', 1}, {'T', 1}, commit()} {
		require.NoError(t, d.change(message))
	}
	require.Equal(t, []string{"leat.outbox(xid,seq)", "bhi,n", "commit"}, h.log)
	require.Equal(t, 5*time.Millisecond, d.lag(6000))
	require.Zero(t, d.lag(999), "a clock that goes back is not a lag")
}

// TestDecoder_Broken: a message that ends early, or is none, is an error and no row.
func TestDecoder_Broken(t *testing.T) {
	t.Parallel()
	for _, whole := range [][]byte{begin(1), relation(), insert(), commit()} {
		for n := range whole {
			h := &heard{}
			d := decoder{handler: h}
			require.ErrorIs(t, d.change(whole[:n]), ErrProtocol, "%x", whole[:n])
			require.Empty(t, h.log)
		}
	}
	d := decoder{handler: &heard{}}
	for _, message := range []string{"?", "S", "I\x00\x00\x00\x05K\x00\x00", "I\x00\x00\x00\x05N\x00\x01x", "I\x00\x00\x00\x05N\x00\x01b\xff\xff\xff\xff"} {
		require.ErrorIs(t, d.change([]byte(message)), ErrProtocol, "%q", message)
	}
}

// TestHandlerEndsTheStream: its error is the stream's.
func TestHandlerEndsTheStream(t *testing.T) {
	t.Parallel()
	d := decoder{handler: &refuses{}}
	require.ErrorIs(t, d.change(commit()), errRefused)
}

var errRefused = errors.New("refused")

type refuses struct{ heard }

func (*refuses) Commit() error { return errRefused }

func TestCommands(t *testing.T) {
	t.Parallel()
	require.Equal(t, `CREATE_REPLICATION_SLOT "a" TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`, createSlot("a"))
	require.Equal(t, `START_REPLICATION SLOT "a" LOGICAL 0/0 (proto_version '1', binary 'true', publication_names '"it''s ""so"""')`,
		startReplication("a", `it's "so"`))
}

// FuzzDecoder: whatever comes, nothing panics, and a row has no bytes that the message
// has not.
func FuzzDecoder(f *testing.F) {
	for _, message := range [][]byte{begin(1), relation(), insert(), commit()} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		h := &heard{}
		d := decoder{handler: h}
		_ = d.change(message)
		for _, line := range h.log {
			require.LessOrEqual(t, len(line), 3*len(message)+8)
		}
	})
}

// TestStream_ClockThatJumps: for how long a server has been silent is measured by a clock that nobody sets.
func TestStream_ClockThatJumps(t *testing.T) {
	t.Parallel()
	s := &Stream{}
	before := clocks.Passed()
	require.NoError(t, s.data(append([]byte{'k'}, make([]byte, 17)...)))
	heard := time.Duration(s.heard.Load())
	require.GreaterOrEqual(t, heard, before)
	require.LessOrEqual(t, heard, clocks.Passed())
	require.GreaterOrEqual(t, s.quiet(), time.Duration(0))
	require.LessOrEqual(t, s.quiet(), clocks.Passed()-before)
}
