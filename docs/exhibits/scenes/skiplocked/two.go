package skiplocked

import (
	"context"
	"errors"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// twoRelaysAsWritten: the first relay takes its batch and is slow, the second one
// takes the next and is not.
func twoRelaysAsWritten(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	o, err := newOutbox(ctx, s, "two")
	if err != nil {
		return gallery.Outcome{}, err
	}
	all := events()
	if err := insertAll(ctx, s, o.insert, all); err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
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
	err = stage.Wait(ctx, taken)
	s.Say("  relay 1 has taken its batch, and pauses")
	err = errors.Join(err, o.relay(ctx, func(event string) error {
		topic.Add(event)
		return nil
	}))
	s.Say("  relay 2 has published %d messages", len(topic.IDs()))
	close(goOn)
	err = errors.Join(err, <-ended)
	s.Say("  relay 1 has published the rest of %d", len(topic.IDs()))
	return gallery.Judge(all, topic.IDs()), err
}

// slowSink pauses before its first records.
type slowSink struct {
	relay.Sink
	pause func()
}

// Send implements relay.Sink.
func (s *slowSink) Send(ctx context.Context, records []lob.Record) []lob.Result {
	s.pause()
	return s.Sink.Send(ctx, records)
}

// twoRelaysOfLeat: the second relay finds that the first one leads.
func twoRelaysOfLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	ob, insert, err := leatOutbox(ctx, s, "two")
	if err != nil {
		return gallery.Outcome{}, err
	}
	all := events()
	if err := insertAll(ctx, s, insert, all); err != nil {
		return gallery.Outcome{}, err
	}
	var topic stage.Log
	taken, goOn := make(chan struct{}), make(chan struct{})
	calls := 0
	slow := &slowSink{Sink: topic.Sink(), pause: func() {
		if calls++; calls == 1 {
			close(taken)
			<-goOn
		}
	}}
	first, err1 := stage.NewRelay(ob, slow, relay.Config{PageSize: page})
	second, err2 := stage.NewRelay(ob, topic.Sink(), relay.Config{PageSize: page})
	if err := errors.Join(err1, err2); err != nil {
		return gallery.Outcome{}, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := first.RunOnce(ctx)
		ended <- err
	}()
	err = stage.Wait(ctx, taken)
	s.Say("  relay 1 has read its page, and pauses")
	n, held := second.RunOnce(ctx)
	if !errors.Is(held, relay.ErrLeaseHeld) {
		err = errors.Join(err, errors.New("relay 2 was let in"), held)
	}
	s.Say("  relay 2 has published %d messages: relay 1 leads", n)
	close(goOn)
	err = errors.Join(err, <-ended)
	s.Say("  relay 1 has published %d", len(topic.IDs()))
	return gallery.Judge(all, topic.IDs()), err
}
