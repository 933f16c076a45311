package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// cursor is the note on a page. Only the goroutine of Advance uses it.
type cursor struct {
	s       *session
	settled int
}

// stopPause is how long Read waits for a message that another one follows and that a Query does
// not return yet.
const stopPause = 5 * time.Millisecond

// Read implements driver.Session. It returns an empty page at the end of a lap that started
// during this call, with all pages settled.
func (s *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	// A lap that has not started to read cannot have left anything out.
	for begun := s.lap.bound == 0 && s.underWay() == 0; ; {
		if err := s.alive(ctx); err != nil {
			return driver.Page{}, err
		}
		records, err := s.lap.next(ctx, limit)
		if err != nil {
			return driver.Page{}, err
		}
		if len(records) > 0 {
			s.first = false
			s.mark(records)
			return driver.Page{Records: records, Cursor: &cursor{s: s}}, nil
		}
		switch {
		case s.underWay() > 0:
			return driver.Page{Waiting: true}, nil
		case begun && len(s.lap.stopped) == 0:
			s.lap.begin()
			if s.first {
				s.first = false
				basis.LogEmpty(ctx, s.ob.cfg.Logger, s.src.group)
			}
			return driver.Page{}, nil
		case begun:
			if err := wait.For(ctx, stopPause); err != nil {
				return driver.Page{}, err
			}
		}
		s.lap.begin()
		begun = true
	}
}

func (s *session) mark(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range records {
		s.unsettled[records[i].Seq] = true
	}
}

func (s *session) underWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unsettled)
}

func (s *session) isUnsettled(seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsettled[seq]
}

// Advance implements driver.Session: it deletes the acknowledged messages. That needs no fence,
// since they stay acknowledged whichever relay leads.
func (s *session) Advance(ctx context.Context, p driver.Page, n int) error {
	c, err := s.check(ctx, p, n)
	if err != nil || n <= c.settled {
		return err
	}
	if err := s.ob.deleteAll(ctx, p.Records[c.settled:n]); err != nil {
		return err
	}
	s.settle(c, p, n)
	return nil
}

func (s *session) check(ctx context.Context, p driver.Page, n int) (*cursor, error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	if n < 0 || n > len(p.Records) {
		return nil, fmt.Errorf("leat: advance by %d of a page of %d records", n, len(p.Records))
	}
	c, ok := p.Cursor.(*cursor)
	if len(p.Records) == 0 {
		return &cursor{s: s}, nil // a page that was waiting
	}
	if !ok || c.s != s {
		return nil, errors.New("leat: advance: page of another session")
	}
	return c, nil
}

// settle notes that the first n records of a page are no longer pending.
func (s *session) settle(c *cursor, p driver.Page, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; c.settled < n; c.settled++ {
		delete(s.unsettled, p.Records[c.settled].Seq)
	}
}

const (
	batchSize     = 25 // the most items that BatchWriteItem takes
	batchesAtOnce = 4
)

// deleteAll deletes pending messages.
func (o *Outbox) deleteAll(ctx context.Context, records []outbox.Record) error {
	var group sync.WaitGroup
	places := make(chan struct{}, batchesAtOnce)
	errs := make([]error, (len(records)+batchSize-1)/batchSize)
	for i := range errs {
		part := records[i*batchSize : min(len(records), (i+1)*batchSize)]
		places <- struct{}{}
		group.Go(func() {
			errs[i] = o.deleteBatch(ctx, part)
			<-places
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (o *Outbox) deleteBatch(ctx context.Context, records []outbox.Record) error {
	var left []types.WriteRequest
	for i := range records {
		left = append(left, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: messageAt(records[i].Seq)}})
	}
	for try := 0; len(left) > 0; try++ {
		out, err := o.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{o.cfg.Table: left}})
		if err != nil {
			return fmt.Errorf("leat: delete what was sent: %w", err)
		}
		left = nil
		for _, rest := range out.UnprocessedItems {
			left = append(left, rest...)
		}
		if len(left) > 0 {
			if err := pause(ctx, try); err != nil {
				return err
			}
		}
	}
	return nil
}
