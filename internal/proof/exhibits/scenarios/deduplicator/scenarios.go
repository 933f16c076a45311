package deduplicator

import (
	"context"
	"errors"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

var errDown = errors.New("the far side is down")

func ignore(error) {}

// fails: the destination is down until all retries have failed, and then comes back.
func fails(ctx context.Context, bed *testbed.Testbed, suppressor suppressor, log *testbed.Log) error {
	suppress, err := suppressor(ctx, bed.Pool)
	if err != nil {
		return err
	}
	calls := 0
	p, err := start(ctx, suppress, func(*message.Message) error {
		if calls++; calls <= 1+retries {
			bed.Say("  call %d of the handler fails", calls)
			return errDown
		}
		bed.Say("  call %d of the handler succeeds", calls)
		log.Add(messageID)
		return nil
	}, ignore)
	if err != nil {
		return err
	}
	err = p.deliver()
	bed.Say("  the message is acknowledged")
	return errors.Join(err, p.stop())
}

// restarts: the message is handled, but its acknowledgement is lost with the process. It is delivered
// again to the next process.
func restarts(ctx context.Context, bed *testbed.Testbed, suppressor suppressor, log *testbed.Log) error {
	for n := range 2 {
		suppress, err := suppressor(ctx, bed.Pool)
		if err != nil {
			return err
		}
		p, err := start(ctx, suppress, func(*message.Message) error {
			bed.Say("  process %d handles the message", n+1)
			log.Add(messageID)
			return nil
		}, ignore)
		if err != nil {
			return err
		}
		if err := errors.Join(p.deliver(), p.stop()); err != nil {
			return err
		}
	}
	return nil
}

// overlaps: the message is delivered to a second process while the first is handling it, as after a
// rebalance. Then the first fails, and the message is delivered to it again.
func overlaps(ctx context.Context, bed *testbed.Testbed, suppressor suppressor, log *testbed.Log) error {
	suppress, err := suppressor(ctx, bed.Pool)
	if err != nil {
		return err
	}
	entered, fail := make(chan struct{}), make(chan struct{})
	calls := 0
	first, err := start(ctx, suppress, func(*message.Message) error {
		calls++
		if calls == 1 {
			close(entered)
			<-fail
		}
		if calls <= 1+retries {
			return errDown
		}
		bed.Say("  the first process handles the message")
		log.Add(messageID)
		return nil
	}, ignore)
	if err != nil {
		return err
	}
	refused := make(chan struct{}, 1)
	second, err := start(ctx, suppress, func(*message.Message) error {
		bed.Say("  the second process handles the message")
		log.Add(messageID)
		return nil
	}, func(error) {
		select {
		case refused <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return errors.Join(err, first.stop())
	}
	err = both(ctx, bed, first, second, entered, refused, fail)
	return errors.Join(err, first.stop(), second.stop())
}

// both delivers to first and then to second. first fails as soon as second has acknowledged or refused.
// both waits until both have acknowledged.
func both(ctx context.Context, bed *testbed.Testbed, first, second *process, entered, refused <-chan struct{}, fail chan<- struct{}) error {
	acked := [2]chan error{make(chan error, 1), make(chan error, 1)}
	go func() { acked[0] <- first.deliver() }()
	err := testbed.Wait(ctx, entered)
	go func() { acked[1] <- second.deliver() }()
	select {
	case err = <-acked[1]:
		acked[1] <- err
		bed.Say("  the second delivery is acknowledged while the first is at work")
	case <-refused:
		bed.Say("  the second delivery is refused while the first is at work")
	case <-ctx.Done():
		err = ctx.Err()
	}
	bed.Say("  the first fails")
	close(fail)
	return errors.Join(err, <-acked[0], <-acked[1])
}

// dies: a process begins to handle the message, loses the database and ends. The message is delivered to
// another process.
func dies(ctx context.Context, bed *testbed.Testbed, suppressor suppressor, log *testbed.Log) error {
	pool, err := pgxpool.NewWithConfig(ctx, bed.Pool.Config())
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := begin(ctx, suppressor, pool); err != nil {
		return err
	}
	bed.Say("  the process has died in the handler")

	suppress, err := suppressor(ctx, bed.Pool)
	if err != nil {
		return err
	}
	p, err := start(ctx, suppress, func(*message.Message) error {
		bed.Say("  the next process handles the message")
		log.Add(messageID)
		return nil
	}, ignore)
	if err != nil {
		return err
	}
	err = p.deliver()
	bed.Say("  the message is acknowledged there")
	return errors.Join(err, p.stop())
}

// begin runs a process that dies in its handler. It can do nothing more about the message, since its
// connections are gone.
func begin(ctx context.Context, suppressor suppressor, pool *pgxpool.Pool) error {
	suppress, err := suppressor(ctx, pool)
	if err != nil {
		return err
	}
	entered := make(chan struct{})
	var once sync.Once
	p, err := start(ctx, suppress, func(msg *message.Message) error {
		once.Do(func() { close(entered) })
		<-msg.Context().Done()
		return errDown
	}, ignore)
	if err != nil {
		return err
	}
	delivered := make(chan error, 1)
	go func() { delivered <- p.deliver() }()
	err = testbed.Wait(ctx, entered)
	pool.Close()
	return errors.Join(err, p.stop(), <-delivered)
}
