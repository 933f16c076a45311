package pglog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// window returns a window of the only slot, with rows in it.
func window(no, settled int64) pgwindow.Window {
	return pgwindow.Window{
		No: no, Last: settled, Slots: 1,
		Prev: pgwindow.Snapshot{Text: "3:3:"}, Target: pgwindow.Snapshot{Text: "9:9:"},
	}
}

// rows are records with these numbers.
func rows(whole bool, seqs ...int64) Rows {
	r := Rows{Whole: whole}
	for _, seq := range seqs {
		r.Records = append(r.Records, outbox.Record{Seq: seq})
		r.Last = seq
	}
	return r
}

// settle settles the first n records of page, and reports whether that is to be stored.
func settle(t *testing.T, p *progress, page driver.Page, n int) bool {
	t.Helper()
	at, last, err := endOf(page, n)
	require.NoError(t, err)
	return p.settle(at, last)
}

// TestO12_ReadIsNotSettled: what the database is told never passes what is settled.
func TestO12_ReadIsNotSettled(t *testing.T) {
	t.Parallel()
	var p progress
	p.begin(window(1, 10), 1)
	require.Equal(t, int64(10), p.place().Read)
	first, second := p.hand(rows(false, 11, 12, 13)), p.hand(rows(true, 14, 15))
	require.Equal(t, Place{Window: window(1, 10), Read: 15, Whole: true}, p.place())
	_, _, unstored := p.unstored()
	require.False(t, unstored, "nothing is settled")
	require.True(t, p.waiting())

	require.True(t, settle(t, &p, first, 2), "a part of a page is stored at once")
	no, last, unstored := p.unstored()
	require.True(t, unstored)
	require.Equal(t, []int64{1, 12}, []int64{no, last})
	p.store(1, 12)
	require.True(t, p.isStored(1, 12))
	require.False(t, p.isStored(1, 13))
	require.False(t, settle(t, &p, first, 1), "it goes forward only")

	require.True(t, settle(t, &p, first, 3))
	require.True(t, p.waiting())
	require.False(t, settle(t, &p, second, 2), "the last page of a window waits for the next window")
	require.False(t, p.waiting())
	require.True(t, p.isSettled(second.Cursor.(cursor), 15))
}

// TestO12_PagesOfAWindowThatIsOver settle nothing, and store nothing.
func TestO12_PagesOfAWindowThatIsOver(t *testing.T) {
	t.Parallel()
	var p progress
	p.begin(window(1, 0), 1)
	page := p.hand(rows(true, 5))
	p.next(window(2, 0), nil)
	require.False(t, p.waiting())
	require.False(t, settle(t, &p, page, 1))
	require.True(t, p.isSettled(page.Cursor.(cursor), 5))
	require.True(t, p.isStored(1, 5))
	p.store(1, 5)
	_, last, unstored := p.unstored()
	require.False(t, unstored)
	require.Zero(t, last)
	_, err := p.after(page, 1)
	require.ErrorContains(t, err, "page of window 1 in window 2")
}

// TestAfter: what a sink keeps is the window with the place that the page brings it to.
func TestAfter(t *testing.T) {
	t.Parallel()
	var p progress
	p.begin(window(1, 3), 1)
	page := p.hand(rows(false, 4, 5, 6))
	for settled, last := range []int64{3, 4, 5, 6} {
		given := page
		if settled == 0 {
			given = driver.Page{}
		}
		w, err := p.after(given, settled)
		require.NoError(t, err)
		require.Equal(t, window(1, last), w)
	}
	for _, settled := range []int{-1, 0, 4} {
		_, err := p.after(page, settled)
		require.ErrorContains(t, err, "cannot settle")
	}
	_, err := p.after(driver.Page{}, 1)
	require.ErrorContains(t, err, "cannot settle")
}

// TestO13_MarkerClosesASlot: a window with another number of slots is the end of this one.
func TestO13_MarkerClosesASlot(t *testing.T) {
	t.Parallel()
	var p progress
	p.begin(window(1, 0), 1)
	require.False(t, p.closed())
	marker := window(2, 0)
	marker.Slots = 4
	p.next(marker, nil)
	require.True(t, p.closed())
}

// TestRounds: windows of other slots count only once so many were joined that their
// snapshots must be young.
func TestRounds(t *testing.T) {
	t.Parallel()
	var p progress
	w := window(1, 0)
	w.Slots = 2
	p.begin(w, 2)
	round := func(leads bool) int {
		w.No++
		w.Leads = leads
		p.next(w, nil)
		require.Equal(t, leads, p.newest())
		return p.hand(rows(true, w.No)).Round
	}
	require.Equal(t, []int{0, 0, 1, 2}, []int{round(false), round(false), round(false), round(true)})
}
