package memoutbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// brokenReaders are the ways of reading a log that lose records or order.
func brokenReaders() []negative {
	return []negative{
		{"position is the highest id", idCursor, map[string]string{
			"O2_LateCommitterIsRead":           "want [middle-1]",
			"O2_LateCommitterAfterHandover":    "late",
			"O2_LateCommitterBetweenPages":     "lost [late-1",
			"O2_ConcurrentWriters":             "late-1",
			"O11_OpenTransactionDelaysNothing": "late-1",
			"Relay_O10_FaultFreeRunSendsOnce":  "deadline exceeded",
		}},
		{"what is missing is remembered for a while", shortMemory, map[string]string{
			"O2_ManyRollbacksLoseNothing": "open all the time",
		}},
		{"rows of others stop the reader", stopsAtForeign, map[string]string{
			"O2_ForeignRowsAreRecords": "unreadable",
		}},
		{"rows of others are passed over", passesForeign, map[string]string{
			"O2_ForeignRowsAreRecords": "want [before foreign-1 foreign-2 after]",
		}},
		{"a read that fails has read", readThenFail, map[string]string{
			"O2_CutReadsLoseNothing": "through reads that were cut off",
		}},
		{"a read that fails takes the next one back", failThenRepeat, map[string]string{
			"O2_CutReadsLoseNothing": "through reads that were cut off",
		}},
		{"retention goes by the highest id that is settled", retainByID, map[string]string{
			"O2_RetentionSparesLateCommits": "open when retention ran",
		}},
		{"a full page ends the window", fullPageEnds, map[string]string{
			"O2_FullPageIsNotTheEnd":           "pages of 1",
			"O2_ConcurrentWriters":             "lost [",
			"Relay_O2_FaultsLoseNothing":       "lost [",
			"Relay_O2_KilledRelayLosesNothing": "deadline exceeded",
		}},
		{"uncommitted rows are read", dirtyRead, map[string]string{
			"O1_RowExistsIffCommitted":         "read [",
			"O3_NothingReadableBeforeCommit":   "while the transaction is open",
			"Relay_O3_NothingSentBeforeCommit": "while the transaction is open",
			"O2_ConcurrentWriters":             "never committed [",
		}},
		{"open transactions hold the reader up", horizon, map[string]string{
			"O11_OpenTransactionDelaysNothing":       "while another transaction is open",
			"Relay_O11_OpenTransactionDelaysNothing": "while a transaction is open",
		}},
		{"ordered by transaction", orderByTransaction, map[string]string{
			"O5_EarlyTransactionLateKey": "want [early k-1 k-2 k-3]",
		}},
		{"Waiting is not told", silentWaiting, map[string]string{
			"O2_EmptyPageMeansNothingLeft": "not Waiting",
		}},
	}
}

// idCursor reads what is above the highest number that it has settled.
func idCursor(c *control) {
	var settled int64 // guarded by ob.mu
	c.session = func(s *session) driver.Session {
		c.mu.Lock()
		read := settled
		c.mu.Unlock()
		return controlSession{
			session: s,
			read: func(_ context.Context, limit int) (driver.Page, error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				var found []outbox.Record
				for _, r := range c.window(position{to: len(c.log)}) {
					if r.Seq > read && len(found) < limit {
						found = append(found, r)
					}
				}
				if len(found) > 0 {
					read = found[len(found)-1].Seq
				}
				return driver.Page{Records: found}, nil
			},
			advance: func(_ context.Context, p driver.Page, n int) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				settled = max(settled, p.Records[n-1].Seq)
				return nil
			},
		}
	}
}

// shortMemory reads what is new, and below it what was missing among the last numbers.
func shortMemory(c *control) {
	read, last := make(map[int64]bool), int64(0) // guarded by ob.mu
	c.session = func(s *session) driver.Session {
		return controlSession{
			session: s,
			read: func(_ context.Context, limit int) (driver.Page, error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				var found []outbox.Record
				for _, r := range c.window(position{to: len(c.log)}) {
					if r.Seq > last-100 && !read[r.Seq] && len(found) < limit {
						found = append(found, r)
						read[r.Seq] = true
					}
				}
				for i := range found {
					last = max(last, found[i].Seq)
				}
				return driver.Page{Records: found}, nil
			},
			advance: func(context.Context, driver.Page, int) error { return nil },
		}
	}
}

// readThenFail moves on before it looks whether somebody still wants the page.
func readThenFail(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(context.WithoutCancel(ctx), limit)
			if ctx.Err() != nil {
				return driver.Page{}, ctx.Err()
			}
			return p, err
		}}
	}
}

// failThenRepeat reads a page that is settled again behind a read that failed.
func failThenRepeat(c *control) {
	c.session = func(s *session) driver.Session {
		var last driver.Page
		var failed bool
		return controlSession{session: s, read: func(ctx context.Context, limit int) (p driver.Page, err error) {
			if failed && len(last.Records) > 0 {
				failed = false
				return last, nil
			}
			p, err = s.Read(ctx, limit)
			if failed = err != nil; !failed {
				last = p
			}
			return p, err
		}}
	}
}

// TestControl_FailedAdvance: a page whose Advance failed may come again.
func TestControl_FailedAdvance(t *testing.T) {
	t.Parallel()
	check, ok := outboxtest.Find("O2_CutReadsLoseNothing")
	require.True(t, ok)
	c := newControl(t)
	failures := 0
	c.session = func(s *session) driver.Session {
		cut := false
		return controlSession{
			session: s,
			read: func(ctx context.Context, limit int) (driver.Page, error) {
				p, err := s.Read(ctx, limit)
				cut = cut || err != nil
				return p, err
			},
			advance: func(ctx context.Context, p driver.Page, n int) error {
				if cut && n > 0 {
					failures++
					return driver.ErrLeaseLost
				}
				return s.Advance(ctx, p, n)
			},
		}
	}
	require.NoError(t, check.Run(t.Context(), outboxtest.Features{}, c))
	require.Positive(t, failures)
}

// retainByID takes away all rows up to the highest number that is settled, also those that
// are committed later.
func retainByID(c *control) {
	var settled, floor int64 // guarded by ob.mu
	c.retain = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		floor = settled
	}
	c.session = func(s *session) driver.Session {
		return controlSession{
			session: s,
			read: func(ctx context.Context, limit int) (driver.Page, error) {
				p, err := s.Read(ctx, limit)
				c.mu.Lock()
				defer c.mu.Unlock()
				p.Records = slices.DeleteFunc(p.Records, func(r outbox.Record) bool { return r.Seq <= floor })
				return p, err
			},
			advance: func(ctx context.Context, p driver.Page, n int) error {
				c.mu.Lock()
				for i := range p.Records[:n] {
					settled = max(settled, p.Records[i].Seq)
				}
				c.mu.Unlock()
				return s.Advance(ctx, p, n)
			},
		}
	}
}

// fullPageEnds takes a full page for the last one of its window.
func fullPageEnds(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			if len(p.Records) == limit {
				c.mu.Lock()
				defer c.mu.Unlock()
				s.window = s.window[:s.read]
			}
			return p, err
		}}
	}
}

// dirtyRead makes rows readable as soon as they are enqueued.
func dirtyRead(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, tx.rows...)
		tx.rows = nil
		return nil
	}
}

// horizon reads nothing while any transaction that has written is open, as a
// reader does that waits for the oldest.
func horizon(c *control) {
	var mu sync.Mutex
	var open []*Tx
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		mu.Lock()
		open = append(open, tx)
		mu.Unlock()
		return c.Enqueue(ctx, tx, msgs...)
	}
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			mu.Lock()
			defer mu.Unlock()
			c.mu.Lock()
			held := slices.ContainsFunc(open, func(tx *Tx) bool { return !tx.closed })
			c.mu.Unlock()
			if held {
				return driver.Page{}, nil
			}
			return s.Read(ctx, limit)
		}}
	}
}

// orderByTransaction sorts a window by the number of the transaction first.
func orderByTransaction(c *control) {
	first := make(map[*Tx]int64)     // the first number of a transaction; guarded by ob.mu
	firstOf := make(map[int64]int64) // the same by the number of a row
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range tx.rows {
			if first[tx] == 0 {
				first[tx] = r.Seq
			}
			firstOf[r.Seq] = first[tx]
		}
		return nil
	}
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if s.pos.done == len(s.window) {
				s.open()
				slices.SortFunc(s.window, func(a, b outbox.Record) int {
					return cmp.Or(cmp.Compare(firstOf[a.Seq], firstOf[b.Seq]), cmp.Compare(a.Seq, b.Seq))
				})
			}
			at := s.read
			s.read = min(at+limit, len(s.window))
			return driver.Page{
				Records: s.window[at:s.read],
				Cursor:  cursor{from: s.pos.from, to: s.pos.to, first: at},
			}, ctx.Err()
		}}
	}
}

// silentWaiting returns an empty page for both nothing new and not now.
func silentWaiting(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			p.Waiting = false
			return p, err
		}}
	}
}

// foreignType marks the rows that a control writes as others would.
const foreignType = "foreign"

// WriteForeign implements outboxtest.ForeignWriter.
func (c *control) WriteForeign(ctx context.Context) (payloads []string, err error) {
	payloads = []string{"foreign-1", "foreign-2"}
	err = c.InTx(ctx, func(ctx context.Context, tx *Tx) error {
		for _, p := range payloads {
			if err := c.Enqueue(ctx, tx, outbox.Message{Topic: "t", Type: foreignType, Payload: []byte(p)}); err != nil {
				return err
			}
		}
		return nil
	})
	return payloads, err
}

func isForeign(r outbox.Record) bool { return r.Type == foreignType }

// stopsAtForeign cannot read a page with such a row.
func stopsAtForeign(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			if slices.ContainsFunc(p.Records, isForeign) {
				return driver.Page{}, errors.New("unreadable")
			}
			return p, err
		}}
	}
}

// passesForeign leaves such rows out of its pages.
func passesForeign(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			p.Records = slices.DeleteFunc(slices.Clone(p.Records), isForeign)
			return p, err
		}}
	}
}
