package skiplocked

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// twoRelaysAsWritten: the first relay takes its batch and is slow; the second takes the next batch
// and is fast.
func twoRelaysAsWritten(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	o, err := newOutbox(ctx, bed, "two")
	fail.If(err)
	all := events()
	fail.If(insertAll(ctx, bed, o.insert, all))
	var topic testbed.Log
	taken, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		n := 0
		ended <- o.relay(ctx, func(event string) error {
			if n++; n == 1 {
				close(taken)
				<-goOn
			}
			topic.Add(event)
			return nil
		})
	}()
	err = testbed.Wait(ctx, taken)
	bed.Say("  relay 1 has taken its batch, and pauses")
	err = errors.Join(err, o.relay(ctx, func(event string) error {
		topic.Add(event)
		return nil
	}))
	bed.Say("  relay 2 has published %d messages", len(topic.IDs()))
	close(goOn)
	err = errors.Join(err, <-ended)
	bed.Say("  relay 1 has published the rest of %d", len(topic.IDs()))
	return exhibit.Judge(all, topic.IDs()), err
}

// slowSink pauses before each call.
type slowSink struct {
	driver.Sink
	pause func()
}

// Send implements driver.Sink.
func (s *slowSink) Send(ctx context.Context, records []lob.Record) []lob.Result {
	s.pause()
	return s.Sink.Send(ctx, records)
}

// twoRelaysOfLeat: the second relay does nothing, since the first one has the lease.
func twoRelaysOfLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, bed, "two")
	fail.If(err)
	all := events()
	fail.If(insertAll(ctx, bed, insert, all))
	var topic testbed.Log
	taken, goOn := make(chan struct{}), make(chan struct{})
	calls := 0
	slow := &slowSink{Sink: topic.Sink(), pause: func() {
		if calls++; calls == 1 {
			close(taken)
			<-goOn
		}
	}}
	first, err1 := testbed.NewRelay(ob, slow, relay.Config{PageSize: page})
	second, err2 := testbed.NewRelay(ob, topic.Sink(), relay.Config{PageSize: page})
	fail.If(errors.Join(err1, err2))
	ended := make(chan error, 1)
	go func() {
		_, err := first.RunOnce(ctx)
		ended <- err
	}()
	err = testbed.Wait(ctx, taken)
	bed.Say("  relay 1 has read its page, and pauses")
	n, held := second.RunOnce(ctx)
	if !errors.Is(held, driver.ErrLeaseHeld) {
		err = errors.Join(err, errors.New("relay 2 was let in"), held)
	}
	bed.Say("  relay 2 has published %d messages: relay 1 leads", n)
	close(goOn)
	err = errors.Join(err, <-ended)
	bed.Say("  relay 1 has published %d", len(topic.IDs()))
	return exhibit.Judge(all, topic.IDs()), err
}
