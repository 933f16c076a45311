package pglog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// scripted is a Stream of given rows.
type scripted struct {
	rows   []Row
	closed string
}

func (s *scripted) Take(target pgwindow.Snapshot, limit int) (taken []Row, alive bool) {
	for len(s.rows) > 0 && len(taken) < limit {
		if !target.Sees(s.rows[0].XID) {
			taken = append(taken, s.rows[0])
		}
		s.rows = s.rows[1:]
	}
	return taken, s.closed == ""
}

func (s *scripted) Close(because string) { s.closed = because }

func rowOf(seq int64, xid uint64) Row { return Row{Record: outbox.Record{Seq: seq}, XID: xid} }

func snapshot(t *testing.T, text string) pgwindow.Snapshot {
	t.Helper()
	s, err := pgwindow.ParseSnapshot(text)
	require.NoError(t, err)
	return s
}

// joined returns the state of a session that has joined a stream of rows at target.
func joined(t *testing.T, target pgwindow.Snapshot, rows ...Row) (*early, *scripted) {
	t.Helper()
	var e early
	stream := &scripted{rows: rows}
	require.True(t, e.follow(true))
	require.Empty(t, e.enter(snapshot(t, "1:1:"), target, stream))
	isJoined, fresh := e.looked(time.Now().Add(time.Hour))
	require.True(t, isJoined)
	require.True(t, fresh)
	return &e, stream
}

func seqsOf(p driver.Page) []int64 {
	var all []int64
	for i := range p.Records {
		all = append(all, p.Records[i].Seq)
	}
	return all
}

// TestO10_WindowLeavesOutWhatWasSentEarly: what was acknowledged early is left out of the
// windows until one is over that sees it, and the stream does not bring what a window has.
func TestO10_WindowLeavesOutWhatWasSentEarly(t *testing.T) {
	t.Parallel()
	first, second, third := snapshot(t, "10:10:"), snapshot(t, "11:13:11"), snapshot(t, "20:20:")
	e, stream := joined(t, first, rowOf(1, 9), rowOf(2, 11), rowOf(3, 12))
	page, ok := e.page(first, 0, 10, time.Now())
	require.True(t, ok)
	require.True(t, page.Early)
	require.Equal(t, []int64{2, 3}, seqsOf(page), "row 1 is in the window")
	require.True(t, e.waiting())
	require.True(t, e.settle(page, 2))
	require.False(t, e.waiting())

	require.Equal(t, []int64{3}, e.enter(first, second, nil), "transaction 11 is under way in it")
	require.Equal(t, []int64{2}, e.enter(second, third, nil))
	stream.rows = []Row{rowOf(2, 11), rowOf(4, 30)}
	page, _ = e.page(third, 0, 10, time.Now())
	require.Equal(t, []int64{4}, seqsOf(page))
	require.Equal(t, 1, e.settledCount())
	require.Empty(t, e.enter(third, snapshot(t, "25:25:"), nil))
	require.Zero(t, e.settledCount())
}

// TestO2_WithdrawnPagesComeAgain: a page that is taken back, and all behind it, are not left
// out of the next window, except the records that were acknowledged.
func TestO2_WithdrawnPagesComeAgain(t *testing.T) {
	t.Parallel()
	target := snapshot(t, "10:10:")
	e, stream := joined(t, target, rowOf(1, 11), rowOf(2, 11), rowOf(3, 12))
	page, _ := e.page(target, 0, 2, time.Now())
	behind, _ := e.page(target, 0, 2, time.Now())
	e.withdraw(page, []int{1})
	require.NotEmpty(t, stream.closed)
	require.False(t, e.waiting(), "nothing that the next window must wait for")
	require.False(t, e.current(page))
	require.False(t, e.current(behind))
	require.True(t, e.settle(behind, 1), "it settles nothing")
	require.Equal(t, []int64{2}, e.enter(target, snapshot(t, "20:20:"), nil))
	_, ok := e.page(target, 0, 2, time.Now())
	require.False(t, ok, "the stream is gone")
}

// TestEarly_Ends: a stream that has ended, the time to look and too much that is remembered
// all send the session to the windows.
func TestEarly_Ends(t *testing.T) {
	t.Parallel()
	target := snapshot(t, "10:10:")
	e, stream := joined(t, target, rowOf(1, 11))
	_, ok := e.page(target, 0, 1, time.Now().Add(2*time.Hour))
	require.False(t, ok, "time to look")
	for seq := range int64(maxSent) {
		e.remember(100+seq, 12)
	}
	_, ok = e.page(target, 0, 1, time.Now())
	require.False(t, ok, "enough is remembered")
	clear(e.sent)
	stream.closed = "cut"
	_, ok = e.page(target, 0, 1, time.Now())
	require.False(t, ok)
	require.False(t, e.joined())
	require.True(t, e.wantsJoin())
	require.True(t, e.follow(false))
	require.False(t, e.follow(false))
	require.False(t, e.wantsJoin())
}

// TestEarly_EndOfAWindow: the rows behind the last page of a window that were sent early
// are settled with it, and not before.
func TestEarly_EndOfAWindow(t *testing.T) {
	t.Parallel()
	var p progress
	p.begin(window(1, 0), 1)
	p.next(window(2, 0), []int64{4, 9})
	page := p.hand(rows(true, 5))
	_, last, _ := p.unstored()
	require.Zero(t, last)
	at, last, err := endOf(page, 1)
	require.NoError(t, err)
	p.settle(at, last)
	_, last, unstored := p.unstored()
	require.True(t, unstored)
	require.Equal(t, int64(9), last)

	p.next(window(3, 0), []int64{12})
	require.Empty(t, p.hand(rows(true)).Records)
	_, last, _ = p.unstored()
	require.Equal(t, int64(12), last)
}

// TestEarly_Discard: at the end of a session a page that was read ahead keeps no window from
// opening, and what was acknowledged stays known.
func TestEarly_Discard(t *testing.T) {
	t.Parallel()
	target := snapshot(t, "10:10:")
	e, _ := joined(t, target, rowOf(1, 11), rowOf(2, 12))
	first, _ := e.page(target, 0, 1, time.Now())
	ahead, _ := e.page(target, 0, 1, time.Now())
	require.True(t, e.settle(first, 1))
	require.True(t, e.waiting())
	e.discard()
	require.False(t, e.waiting())
	require.True(t, e.settle(ahead, 1), "it settles nothing")
	require.Equal(t, []int64{1}, e.enter(target, snapshot(t, "20:20:"), nil))
}

// TestEarly_PassesWhatWasSent: rows that were sent already hide none of those behind them.
func TestEarly_PassesWhatWasSent(t *testing.T) {
	t.Parallel()
	target := snapshot(t, "10:10:")
	e, _ := joined(t, target, rowOf(1, 11), rowOf(2, 12), rowOf(3, 13))
	e.remember(1, 11)
	e.remember(2, 12)
	page, ok := e.page(target, 0, 2, time.Now())
	require.True(t, ok)
	require.Equal(t, []int64{3}, seqsOf(page))
}
